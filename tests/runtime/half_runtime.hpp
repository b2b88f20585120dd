// A class that must not compile, by the number in OUTBACK_CASE: check_half_runtimes.py includes
// this once for each, in a namespace of its own. Case 0 is whole and compiles, so that the others
// fail for the right reason. Cases from 20 on have one group, and not the one that it needs; from
// 30 on they have other integers than the list of slots has.
#define OUTBACK_HAS(group_case) (OUTBACK_CASE < 20 || OUTBACK_CASE == group_case)
#define OUTBACK_HAS_STREAMS (OUTBACK_CASE != 2 && OUTBACK_CASE != 22)
#define OUTBACK_HAS_EVENTS (OUTBACK_CASE < 20)

struct runtime {
  int32_t device_count();
  outback_device_info device_info(int32_t);
  void device_sync(int32_t);
#if OUTBACK_CASE == 30
  void* mem_alloc(int32_t, int);  // would allocate a part of 5 GiB
#elif OUTBACK_CASE == 31
  void* mem_alloc(int32_t, bool);
#elif OUTBACK_CASE == 32
  struct amount {
    amount(std::size_t);
  };
  void* mem_alloc(int64_t, amount);
#elif OUTBACK_CASE == 33
  void* mem_alloc(const int32_t&, long long&&);
#else
  void* mem_alloc(int32_t, std::size_t);
#endif
  void mem_free(int32_t, void*);
  void mem_copy(void*, int32_t, const void*, int32_t, std::size_t, outback_stream);
#if OUTBACK_CASE != 1
  void mem_fill(int32_t, void*, std::size_t, const void*, std::size_t, outback_stream);
#endif

#if OUTBACK_HAS_STREAMS
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

#if OUTBACK_HAS_EVENTS
  outback_event event_create(int32_t, uint32_t);
  void event_destroy(int32_t, outback_event);
  void event_record(int32_t, outback_event, outback_stream);
#if OUTBACK_CASE != 5
  void event_wait(int32_t, outback_event, outback_stream);
#endif
  bool event_query(int32_t, outback_event);
  void event_sync(int32_t, outback_event);
  int64_t event_elapsed(outback_event, outback_event);
#endif

#if OUTBACK_CASE != 20
  void* host_alloc(std::size_t);
  void host_free(void*);
#if OUTBACK_CASE != 6
  outback_pointer_info host_info(const void*);
#endif
#endif

#if OUTBACK_CASE == 7
  void device_select();  // the name without the signature, and nothing else of the group
#elif OUTBACK_CASE != 8
  void device_select(int32_t);
  bool device_is_active(int32_t);
  outback::memory_amount memory_usage(int32_t);
#endif

#if OUTBACK_HAS(20)
  void host_register(void*, std::size_t);
#if OUTBACK_CASE != 9
  void host_unregister(void*);
#endif
#endif

#if OUTBACK_CASE == 16
  int peer_can_access(int32_t, int32_t);
#else
  bool peer_can_access(int32_t, int32_t);
#endif
  void peer_enable(int32_t, int32_t);
#if OUTBACK_CASE != 10
  void peer_disable(int32_t, int32_t);
#endif

#if OUTBACK_HAS(21)
  void* native_device(int32_t);
#if OUTBACK_CASE != 17
  void* native_context(int32_t);
#endif
  void* native_stream(int32_t, outback_stream);
  void* native_event(int32_t, outback_event);
#if OUTBACK_CASE != 11
  outback_stream native_wrap_stream(int32_t, void*);
#endif
#endif

#if OUTBACK_CASE == 12
  void callback_enqueue();  // the one member of its group, and not as it has to be
#elif OUTBACK_HAS(22)
  void callback_enqueue(int32_t, outback_callback, void*, outback_stream);
#endif

#if OUTBACK_HAS(23)
  outback_ipc_handle ipc_get_memory(int32_t, void*);
  void* ipc_open_memory(int32_t, const outback_ipc_handle&);
#if OUTBACK_CASE != 13
  void ipc_close_memory(int32_t, void*);
#endif
  outback_ipc_handle ipc_get_event(int32_t, outback_event);
  outback_event ipc_open_event(int32_t, const outback_ipc_handle&);
#endif

#if OUTBACK_HAS(24)
  void graph_begin(int32_t, outback_stream);
#if OUTBACK_CASE != 14
  outback_capture graph_status(int32_t, outback_stream);
#endif
  outback_graph graph_end(int32_t, outback_stream);
  void graph_instantiate(int32_t, outback_graph);
  void graph_launch(int32_t, outback_graph, outback_stream);
  void graph_destroy(int32_t, outback_graph);
#endif

#if OUTBACK_CASE == 15
  int64_t telemetry_read(int32_t);
#else
  int64_t telemetry_read(int32_t, outback_metric);
#endif
  std::vector<outback_process> telemetry_processes(int32_t);

  void activity_start(int32_t);
  void activity_stop(int32_t);
  void activity_flush(int32_t);
#if OUTBACK_CASE != 18
  outback_records activity_read(int32_t);
#endif
  int64_t activity_clock(int32_t);
  uint64_t activity_stream(int32_t, outback_stream);
  void activity_push(uint64_t);
  uint64_t activity_pop();

  void range_push(const char*);
#if OUTBACK_CASE != 19
  void range_pop();
#endif
  void range_mark(const char*);
};

const outback_runtime* table_of_runtime(runtime& r) {
  return outback::table_of(r);
}

#undef OUTBACK_HAS
#undef OUTBACK_HAS_STREAMS
#undef OUTBACK_HAS_EVENTS
#undef OUTBACK_CASE
