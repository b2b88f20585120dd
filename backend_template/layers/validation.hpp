// The layer that checks callers and runtimes. outback/layers.hpp documents its checks; this file
// shows how a call goes through the layer. The rules of single slots are in validation_memory.cpp
// (memory, copies, fills), validation_ipc.cpp, validation_graphs.cpp, validation_kernels.cpp, and
// validation.cpp (all others).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backend_template/layers/call.hpp"
#include "backend_template/layers/fork_mutex.hpp"
#include "backend_template/layers/layer.hpp"
#include "backend_template/layers/objects.hpp"
#include "backend_template/layers/outputs.hpp"
#include "backend_template/layers/text.hpp"
#include "outback/detail/call_check.hpp"
#include "outback/layers.hpp"
#include "outback/runtime_error.hpp"

namespace outback::layers {

/// `validate` leaks the object, as every maker of a layer does. Thread-safe; holds no lock while it
/// calls the runtime.
class validation : public layer<validation> {
 public:
  /// Copies both tables, which must pass `outback::table_problem`. `devices` is
  /// `validation_options::devices`.
  validation(const outback_runtime& below, const outback_runtime& devices);

  /// See `outback::layers::leaks`.
  std::string leaks() const;

  /// Every call goes through this function. The steps that all slots share work on `slot_facts`. A
  /// slot that needs further steps has overloads of `check` (before the call), `give_more` (removes
  /// the records of objects that the call ends) or `receive` (after a success). The overloads get
  /// the call's arguments, with validation's copies as outputs.
  ///
  /// A step throws invalid_argument for a mistake of the caller (`refuse`), and runtime_error with
  /// OUTBACK_INTERNAL for a mistake of the runtime (`blame`). In both cases the caller's outputs
  /// stay as they were.
  template <class Slot, class... Args>
  outback_status call(Args... args) {
    const any_call call = {slot_facts_of<Slot>, {args...}};
    check_arguments(call);
    std::vector<own_output> own = outputs_of(call);  // refuses null outputs
    std::size_t from_end = sizeof...(args);
    (replace_output(args, own, from_end--), ...);
    check_rules(Slot(), args...);
    check(Slot(), args...);
    check_not_lost(call);  // last, so that a lost device does not hide a wrong argument

    giving given = give(call);
    give_more(Slot(), given, args...);
    const outback_status status = below<Slot>(args...);
    check_answer(call, status, given, own);
    if (status != OUTBACK_OK) return status;
    receive(Slot(), args...);
    receive_end(Slot(), given);
    for (const own_output& each : own) each.commit();
    return status;
  }

 private:
  static constexpr const char* event_kind = handle_name<outback_event>;

  /// Facts about a device from device_info. As long as they are unknown, these defaults forbid the
  /// least.
  struct facts {
    bool known = false;
    uint32_t flags = OUTBACK_ADDRESSES_HOST;
    uint32_t alignment = 1;  // in bytes
    // True if PyTorch's own kernels run on the device: then PyTorch's allocator may have made the
    // memory.
    bool has_memory_of_others = false;
    uint32_t max_group_size = 0;  // 0: the device does not tell
  };

  /// The records of the objects that the call is about to end. They are removed before the call,
  /// because another thread may get the same address from the runtime as soon as the runtime has
  /// the object back. If the runtime refuses the call, `check_answer` puts the records back.
  struct giving {
    giving() {}  // "= default" would zero the whole object first, in every call
    std::optional<block> memory;
    std::optional<made_handle> handle;
  };

  /// Reports a mistake of the caller: throws "validation: <slot>: <argument> is <is>: expected
  /// <expected>".
  [[noreturn]] static void refuse(const char* slot, const char* argument, std::string_view is,
                                  std::string_view expected);
  /// Does the same for a `why` that is the whole sentence, "<argument> is <is>: expected
  /// <expected>".
  [[noreturn]] static void refuse(const char* slot, std::string_view why);
  /// Reports a mistake of the runtime: throws "validation: <slot>: the runtime is wrong: it
  /// <what>".
  [[noreturn]] static void blame(const char* slot, std::string_view what);

  // ---- Before the call, for all slots

  /// Checks devices and handles, by the roles of the arguments.
  void check_arguments(const any_call& call);
  /// Refuses an index outside 0 to count - 1. Accepts every index if the runtime cannot count.
  void check_device(const char* slot, const char* argument, int32_t device);
  /// Returns the runtime's reason why there are no devices, for the message; "" if there is no
  /// reason.
  std::string why_there_are_none();
  /// Refuses null, a handle that is gone, and a handle that this table has not made for `device`
  /// (for role::of_any: for any device).
  void check_handle(const char* slot, const parameter& p, const void* handle, int32_t device) const;
  /// Returns the devices that the call needs: the devices in its arguments and the devices of its
  /// handles.
  std::set<int32_t> involved(const any_call& call) const;
  /// Removes the records of the handles that the call ends.
  giving give(const any_call& call);

  // ---- After the call, for all slots

  /// Checks status and outputs. Records new handles if nothing is wrong. After
  /// OUTBACK_INVALID_ARGUMENT, puts the records of `given` back. Records a lost device.
  void check_answer(const any_call& call, outback_status status, const giving& given,
                    const std::vector<own_output>& own);
  /// Records a new handle. Blames the runtime for null and for a handle that is alive already.
  void receive_handle(const char* slot, const parameter& p, const void* handle, int32_t device);
  [[noreturn]] void blame_status(const char* slot, outback_status status) const;
  [[noreturn]] void blame_written(const char* slot, outback_status status, const char* name) const;

  // ---- Overloads for single slots. The templates serve all other slots and do nothing.

  /// Refuses arguments that no runtime accepts.
  template <class Slot, class... Args>
  static void check_rules(Slot slot, Args... args) {
    try {
      outback::detail::check_call(slot, args...);
    } catch (const invalid_argument& error) {
      refuse(Slot::name, error.what());
    }
  }

  /// Refuses other wrong arguments that the roles do not cover.
  template <class Slot, class... Args>
  void check(Slot, Args...) {}
  void check(slots::mem_copy, void* dst, int32_t dst_device, const void* src, int32_t src_device,
             std::size_t size, outback_stream);
  void check(slots::mem_fill, int32_t device, void* ptr, std::size_t size, const void* pattern,
             std::size_t pattern_size, outback_stream);
  void check(slots::event_elapsed, outback_event from, outback_event to, int64_t*);
  void check(slots::host_register, void* ptr, std::size_t size);
  void check(slots::ipc_get_memory, int32_t device, void* ptr, outback_ipc_handle* handle);
  void check(slots::ipc_get_event, int32_t device, outback_event event, outback_ipc_handle* handle);
  void check(slots::stream_destroy, int32_t device, outback_stream stream);
  void check(slots::graph_begin, int32_t device, outback_stream stream);
  void check(slots::graph_instantiate, int32_t device, outback_graph graph);
  void check(slots::graph_launch, int32_t device, outback_graph graph, outback_stream);
  void check(slots::kernel_launch, int32_t device, outback_kernel kernel,
             const outback_launch* launch, outback_stream);

  /// Removes the records of memory and captures that the call ends. Refuses the call if there is no
  /// such record.
  template <class Slot, class... Args>
  void give_more(Slot, giving&, Args...) {}
  void give_more(slots::mem_free, giving& given, int32_t device, void* ptr);
  void give_more(slots::host_free, giving& given, void* ptr);
  void give_more(slots::host_unregister, giving& given, void* ptr);
  void give_more(slots::ipc_close_memory, giving& given, int32_t device, void* ptr);
  void give_more(slots::graph_end, giving&, int32_t device, outback_stream stream, outback_graph*);

  /// After OUTBACK_OK: blames the runtime for impossible results, and records new memory and
  /// captures.
  template <class Slot, class... Args>
  void receive(Slot, Args...) {}
  template <class Slot>
  void receive_end(Slot, const giving&) {}
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
  void receive(slots::activity_read, int32_t, outback_records* records);
  void receive(slots::kernel_formats, int32_t, outback_formats* formats);
  void receive(slots::kernel_of, int32_t device, outback_module module, const char*,
               outback_kernel* kernel);
  void receive_end(slots::module_unload, const giving& given);

  // ---- Kernels

  /// Refuses a pointer into memory that kernels of `device` cannot access: memory that was freed,
  /// and memory of another device that is no peer.
  void check_kernel_memory(int32_t device, const void* ptr, const std::string& argument);

  // ---- Memory

  /// Records new memory. If the memory is wrong, gives it back to the runtime with `free` and
  /// blames the runtime. `alignment` is in bytes.
  template <class Free>
  void receive_memory(const char* slot, void* ptr, std::size_t size, int32_t device,
                      uint32_t alignment, Free&& free);
  /// `keep_memory` throws this for memory that is in use already. The memory must not be freed,
  /// since it belongs to an earlier allocation.
  struct overlap : runtime_error {
    using runtime_error::runtime_error;
  };
  void keep_memory(const char* slot, void* ptr, std::size_t size, int32_t device,
                   uint32_t alignment);

  /// Refuses a range that would go beyond the last address. `size` is not 0.
  static void check_addresses(const char* slot, const char* argument, const void* ptr,
                              std::size_t size);
  /// Refuses memory of a device that the CPU cannot address, if host memory is expected.
  void check_host_memory(const char* slot, const char* argument, const void* ptr, std::size_t size);
  /// Refuses a range that is not entirely in memory of `device`, or of the host for OUTBACK_HOST.
  void check_range(const char* slot, const char* argument, const void* ptr, std::size_t size,
                   int32_t device);
  /// Refuses `ptr`, which is not the beginning of memory of `device` with this origin. The message
  /// says what `ptr` is instead.
  [[noreturn]] void refuse_memory(const char* slot, const void* ptr, int32_t device, origin wanted);
  /// Removes and returns the record of the memory of `device` and this origin that begins at `ptr`,
  /// or refuses `ptr`.
  block take_memory(const char* slot, const void* ptr, int32_t device, origin from);

  /// Blames the runtime for writing a handle with an impossible size or descriptor.
  static void check_made(const char* slot, const outback_ipc_handle& handle);

  // ---- Devices

  /// Throws device_lost if a device that the call needs is lost.
  void check_not_lost(const any_call& call) const;
  /// Records that the call's device is lost, if the call needs only one device.
  void lose(const any_call& call);
  bool is_lost(int32_t device) const;
  /// Returns the number of devices; nullopt if the runtime cannot tell. Each call asks again until
  /// the runtime has told the number.
  std::optional<int32_t> device_count();
  /// Returns the known facts about a device. Each call asks again until the runtime has told them
  /// or the device is lost.
  facts facts_of(int32_t device);

  const complete_table devices_;  // the table to ask about devices
  objects objects_;               // memory, registrations, handles and captures
  mutable fork_mutex mutex_;      // guards the two maps
  std::map<int32_t, facts> facts_;
  std::map<int32_t, std::string> lost_;  // the slot that lost the device, and the runtime's text
  std::atomic<bool> any_lost_{false};    // spares the lock as long as no device is lost
  std::atomic<int32_t> count_{-1};       // -1: not known yet
};

}  // namespace outback::layers
