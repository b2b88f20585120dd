// The layer that checks callers and runtimes; what it promises is told in outback/layers.hpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "backend_template/layers/call.hpp"
#include "backend_template/layers/fork_mutex.hpp"
#include "backend_template/layers/layer.hpp"
#include "backend_template/layers/objects.hpp"
#include "backend_template/layers/opened_memory.hpp"
#include "backend_template/layers/outputs.hpp"
#include "backend_template/layers/text.hpp"
#include "outback/layers.hpp"
#include "outback/runtime_error.hpp"

namespace outback::layers {

class validation : public layer<validation> {
 public:
  validation(const outback_runtime& below, const outback_runtime& devices);

  std::string leaks() const;

  /// The way of every call. What all slots have in common is told by their `facts`; what one slot
  /// has beyond that is an overload of `check`, `give_more` or `receive`, whose outputs are ours.
  template <class Slot, class... Args>
  outback_status call(Args... args) {
    const any_call call = {slot_facts_of<Slot>, {args...}};
    check_arguments(call);
    outputs own(call);  // refuses null
    std::size_t i = 0;
    (own.replace(i++, args), ...);
    check(Slot(), args...);
    check_not_lost(call);

    giving given = give(call);
    give_more(Slot(), given, args...);
    const outback_status status = below<Slot>(args...);
    check_answer(call, status, given, own);
    if (status != OUTBACK_OK) return status;
    receive(Slot(), args...);
    own.commit();
    return status;
  }

 private:
  static constexpr const char* event_kind = handle_name<outback_event>;

  struct facts {
    bool known = false;
    uint32_t flags = OUTBACK_ADDRESSES_HOST;  // unknown: what allows most
    uint32_t alignment = 1;
  };

  /// What the call is about to end. It goes before the runtime is called, since another thread may
  /// get the same address as soon as the runtime has it back.
  struct giving {
    giving() {}  // without "= default", which would have all of it cleared for every call
    std::optional<block> memory, opened;
    std::optional<made_handle> handle;
  };

  [[noreturn]] static void refuse(const char* slot, const char* argument, std::string_view is,
                                  std::string_view expected);
  [[noreturn]] static void blame(const char* slot, std::string_view what);

  // ---- What the arguments say by themselves.

  void check_arguments(const any_call& call);
  void check_device(const char* slot, const char* argument, int32_t device);
  std::string why_there_are_none();
  void check_handle(const char* slot, const parameter& p, const void* handle, int32_t device) const;
  /// The devices that the call needs, those of its handles too.
  device_set involved(const any_call& call) const;
  giving give(const any_call& call);

  // ---- What the runtime answered.

  /// Keeps the handles that were made, if nothing is wrong, and puts back what was given in vain.
  void check_answer(const any_call& call, outback_status status, const giving& given,
                    const outputs& own);
  void receive_handle(const char* slot, const parameter& p, const void* handle, int32_t device);
  [[noreturn]] void blame_status(const char* slot, outback_status status) const;
  [[noreturn]] void blame_written(const char* slot, outback_status status, const char* name) const;

  // ---- What single slots ask for, by overloads; for all others, nothing.

  template <class Slot, class... Args>
  void check(Slot, Args...) {}
  void check(slots::mem_copy, void* dst, int32_t dst_device, const void* src, int32_t src_device,
             std::size_t size, outback_stream);
  void check(slots::mem_fill, int32_t device, void* ptr, std::size_t size, const void* pattern,
             std::size_t pattern_size, outback_stream);
  void check(slots::event_create, int32_t device, uint32_t flags, outback_event*);
  void check(slots::host_register, void* ptr, std::size_t size);
  void check(slots::peer_enable, int32_t device, int32_t peer);
  void check(slots::peer_disable, int32_t device, int32_t peer);
  void check(slots::callback_enqueue, int32_t, outback_callback callback, void*, outback_stream);
  void check(slots::ipc_get_memory, int32_t device, void* ptr, outback_ipc_handle*);
  void check(slots::ipc_open_memory, int32_t, const outback_ipc_handle* handle, void**);
  void check(slots::ipc_get_event, int32_t device, outback_event event, outback_ipc_handle*);
  void check(slots::ipc_open_event, int32_t, const outback_ipc_handle* handle, outback_event*);
  void check(slots::stream_destroy, int32_t device, outback_stream stream);
  void check(slots::graph_begin, int32_t device, outback_stream stream);
  void check(slots::graph_instantiate, int32_t device, outback_graph graph);
  void check(slots::graph_launch, int32_t device, outback_graph graph, outback_stream);

  template <class Slot, class... Args>
  void give_more(Slot, giving&, Args...) {}
  void give_more(slots::mem_free, giving& given, int32_t device, void* ptr);
  void give_more(slots::host_free, giving& given, void* ptr);
  void give_more(slots::host_unregister, giving& given, void* ptr);
  void give_more(slots::ipc_close_memory, giving& given, int32_t device, void* ptr);
  void give_more(slots::graph_end, giving&, int32_t device, outback_stream stream, outback_graph*);

  template <class Slot, class... Args>
  void receive(Slot, Args...) {}
  void receive(slots::device_count, int32_t* count);
  void receive(slots::device_info, int32_t device, outback_device_info* info);
  void receive(slots::host_info, const void*, outback_pointer_info* info);
  void receive(slots::stream_priorities, int32_t, int32_t* least, int32_t* greatest);
  void receive(slots::mem_alloc, int32_t device, std::size_t size, void** ptr);
  void receive(slots::host_alloc, std::size_t size, void** ptr);
  void receive(slots::event_create, int32_t device, uint32_t flags, outback_event* event);
  void receive(slots::host_register, void* ptr, std::size_t size);
  void receive(slots::peer_can_access, int32_t device, int32_t peer, int32_t* can);
  void receive(slots::native_wrap_stream, int32_t device, void*, outback_stream* stream);
  void receive(slots::ipc_get_memory, int32_t, void*, outback_ipc_handle* handle);
  void receive(slots::ipc_get_event, int32_t, outback_event, outback_ipc_handle* handle);
  void receive(slots::ipc_open_memory, int32_t device, const outback_ipc_handle*, void** ptr);
  void receive(slots::ipc_open_event, int32_t device, const outback_ipc_handle*,
               outback_event* event);
  void receive(slots::graph_begin, int32_t device, outback_stream stream);
  void receive(slots::graph_status, int32_t, outback_stream, outback_capture* capture);
  void receive(slots::graph_instantiate, int32_t device, outback_graph graph);

  /// Keeps `ptr`, or gives it back and throws.
  template <class Free>
  void receive_memory(const char* slot, void* ptr, std::size_t size, int32_t device,
                      uint32_t alignment, Free&& free);
  struct overlap : runtime_error {
    using runtime_error::runtime_error;
  };
  void keep_memory(const char* slot, void* ptr, std::size_t size, int32_t device,
                   uint32_t alignment);

  static void check_addresses(const char* slot, const char* argument, const void* ptr,
                              std::size_t size);
  void check_host_memory(const char* slot, const char* argument, const void* ptr, std::size_t size);
  void check_range(const char* slot, const char* argument, const void* ptr, std::size_t size,
                   int32_t device);
  /// Throws what is said of a pointer that is not the beginning of such memory.
  [[noreturn]] void refuse_memory(const char* slot, const void* ptr, int32_t device, origin wanted);
  block take_memory(const char* slot, const void* ptr, int32_t device, origin from);

  // ---- Peers, IPC handles

  static void check_two(const char* slot, int32_t device, int32_t peer);
  static void check_given(const char* slot, const outback_ipc_handle* handle);
  static void check_made(const char* slot, const outback_ipc_handle& handle);

  // ---- Devices

  void check_not_lost(const any_call& call) const;
  void lose(const any_call& call);
  bool is_lost(int32_t device) const;
  std::optional<int32_t> device_count();
  facts facts_of(int32_t device);

  const complete_table devices_;
  objects objects_;
  opened_memory opened_;
  mutable fork_mutex mutex_;  // of what follows
  std::map<int32_t, facts> facts_;
  std::map<int32_t, std::string> lost_;  // and what the runtime said then
  std::atomic<bool> any_lost_{false};
  std::atomic<int32_t> count_{-1};
};

}  // namespace outback::layers
