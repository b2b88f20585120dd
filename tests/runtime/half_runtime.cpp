// Classes that must not compile, by the number in OUTBACK_CASE, and in which words: see
// CMakeLists.txt. Case 0 is whole and compiles, so that the others fail for the right reason.
#include "outback/runtime.hpp"

struct runtime {
  int32_t device_count();
  outback_device_info device_info(int32_t);
  void device_sync(int32_t);
  void* mem_alloc(int32_t, std::size_t);
  void mem_free(int32_t, void*);
  void mem_copy(void*, int32_t, const void*, int32_t, std::size_t, outback_stream);
#if OUTBACK_CASE != 1
  void mem_fill(int32_t, void*, std::size_t, const void*, std::size_t, outback_stream);
#endif

#if OUTBACK_CASE != 2
  outback_stream stream_create(int32_t, int32_t);
  void stream_destroy(int32_t, outback_stream);
#if OUTBACK_CASE == 4
  int stream_query(int32_t, outback_stream);
#elif OUTBACK_CASE != 3
  bool stream_query(int32_t, outback_stream);
#endif
  void stream_sync(int32_t, outback_stream);
  outback::priority_range stream_priorities(int32_t);
#endif

  outback_event event_create(int32_t, uint32_t);
  void event_destroy(int32_t, outback_event);
  void event_record(int32_t, outback_event, outback_stream);
#if OUTBACK_CASE != 5
  void event_wait(int32_t, outback_event, outback_stream);
#endif
  bool event_query(int32_t, outback_event);
  void event_sync(int32_t, outback_event);
  int64_t event_elapsed(outback_event, outback_event);

  void* host_alloc(std::size_t);
  void host_free(void*);
#if OUTBACK_CASE != 6
  outback_pointer_info host_info(const void*);
#endif

#if OUTBACK_CASE == 7
  void device_select();  // the name without the signature, and nothing else of the group
#elif OUTBACK_CASE != 8
  void device_select(int32_t);
  bool device_is_active(int32_t);
  outback::memory_amount memory_usage(int32_t);
#endif
};

const outback_runtime* table_of_runtime(runtime& r) {
  return outback::table_of(r);
}
