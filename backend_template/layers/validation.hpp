// The layer that checks callers and runtimes; what it promises is told in outback/layers.hpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "backend_template/layers/call.hpp"
#include "backend_template/layers/fork_mutex.hpp"
#include "backend_template/layers/layer.hpp"
#include "backend_template/layers/objects.hpp"
#include "backend_template/layers/opened_memory.hpp"
#include "backend_template/layers/outputs.hpp"
#include "backend_template/layers/text.hpp"
#include "outback/layers.hpp"

namespace outback::layers {

class validation : public layer<validation> {
 public:
  validation(const outback_runtime& below, const outback_runtime& devices);

  std::string leaks() const;

  /// The way of every call. What all slots have in common is told by their `arguments`; what one
  /// slot has beyond that is an overload of `check`, `give_more` or `receive`.
  template <class Slot, class... Args>
  outback_status call(Args... args) {
    check_devices<Slot>(args...);
    check_handles<Slot>(args...);
    outputs<Slot, Args...> scratch(args...);  // refuses null
    check(Slot(), args...);
    check_not_lost(involved<Slot>(args...));

    giving given = give<Slot>(args...);
    const outback_status status = scratch.call([&](Args... a) { return below<Slot>(a...); });
    // After any other failure it is gone.
    if (status == OUTBACK_INVALID_ARGUMENT) given.put_back(objects_, opened_);
    if (status == OUTBACK_DEVICE_LOST) lose(Slot::name, involved<Slot>(args...));
    check_answer<Slot>(status, scratch);
    if (status != OUTBACK_OK) return status;
    receive_handles<Slot>(scratch, args...);
    receive(Slot(), scratch, args...);
    scratch.commit();
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
    std::optional<block> memory, opened;
    std::optional<made_handle> handle;
    void put_back(objects& to, opened_memory& to_opened) const {
      if (memory) to.put_back(*memory);
      if (handle) to.put_back(*handle);
      if (opened) to_opened.put_back(*opened);
    }
  };

  [[noreturn]] static void refuse(const char* slot, const char* argument, const std::string& is,
                                  const std::string& expected);
  [[noreturn]] static void blame(const char* slot, const std::string& what);

  // ---- What the arguments say by themselves.

  template <class Slot, class... Args>
  void check_devices(Args... args) {
    for_each_argument<Slot>(
        [&](argument a, auto value) {
          if constexpr (std::is_same_v<decltype(value), int32_t>) {
            if (a.is == role::device) check_device(Slot::name, a.name, value);
            if (a.is == role::side && value != OUTBACK_HOST) {
              check_device(Slot::name, a.name, value);
            }
          }
        },
        args...);
  }

  template <class Slot, class... Args>
  void check_handles(Args... args) {
    const int32_t device = stream_device<Slot>(args...);
    for_each_argument<Slot>(
        [&](argument a, auto value) {
          if constexpr (handle_name<decltype(value)> != nullptr) {
            if (value == nullptr && a.is == role::or_null) return;
            check_handle(Slot::name, a, handle_name<decltype(value)>, value, device);
          }
        },
        args...);
  }

  /// The devices that the call needs, those of its handles too.
  template <class Slot, class... Args>
  std::set<int32_t> involved(Args... args) const {
    std::set<int32_t> all = devices_of<Slot>(args...);
    for_each_argument<Slot>(
        [&](argument a, auto value) {
          if constexpr (handle_name<decltype(value)> != nullptr) {
            if (a.is != role::of_any) return;
            const auto found = objects_.find_of_any_device(handle_name<decltype(value)>, value);
            if (found) all.insert(found->device);
          }
        },
        args...);
    return all;
  }

  template <class Slot, class... Args>
  giving give(Args... args) {
    giving given;
    for_each_argument<Slot>(
        [&](argument a, auto value) {
          if constexpr (handle_name<decltype(value)> != nullptr) {
            if (a.is != role::ends) return;
            constexpr const char* kind = handle_name<decltype(value)>;
            const int32_t device = stream_device<Slot>(args...);
            given.handle = objects_.take(kind, value, device);
            // Another thread was faster.
            if (!given.handle) check_handle(Slot::name, a, kind, value, device);
          }
        },
        args...);
    give_more(Slot(), given, args...);
    return given;
  }

  template <class Slot, class Scratch, class... Args>
  void receive_handles(Scratch& scratch, Args... args) {
    const int32_t device = stream_device<Slot>(args...);
    scratch.for_each([&](argument a, auto& written) {
      using Handle = std::remove_reference_t<decltype(written)>;
      if constexpr (handle_name<Handle> != nullptr) {
        if (a.is == role::makes)
          receive_handle(Slot::name, a, handle_name<Handle>, written, device);
      }
    });
  }

  template <class Slot, class Scratch>
  void check_answer(outback_status status, const Scratch& scratch) const {
    if (status_name(status) == nullptr ||
        (status == OUTBACK_NOT_READY && !Slot::may_be_not_ready)) {
      blame_status(Slot::name, status);
    }
    if (const char* name = scratch.overrun()) {
      blame(Slot::name, "wrote beyond the end of *" + std::string(name));
    }
    if (status == OUTBACK_OK) return;
    if (const char* name = scratch.written()) blame_written(Slot::name, status, name);
  }

  void check_device(const char* slot, const char* argument, int32_t device);
  void check_handle(const char* slot, argument a, const char* kind, const void* handle,
                    int32_t device) const;
  void receive_handle(const char* slot, argument a, const char* kind, const void* handle,
                      int32_t device);
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

  template <class Slot, class Scratch, class... Args>
  void receive(Slot, Scratch&, Args...) {}
  template <class Scratch>
  void receive(slots::mem_alloc, Scratch& scratch, int32_t device, std::size_t size, void**) {
    void* ptr = scratch.template get<2>();
    receive_memory(slots::mem_alloc::name, ptr, size, device, facts_of(device).alignment,
                   [&] { return below<slots::mem_free>(device, ptr); });
  }
  template <class Scratch>
  void receive(slots::host_alloc, Scratch& scratch, std::size_t size, void**) {
    void* ptr = scratch.template get<1>();
    receive_memory(slots::host_alloc::name, ptr, size, OUTBACK_HOST, 64,
                   [&] { return below<slots::host_free>(ptr); });
  }
  template <class Scratch>
  void receive(slots::device_count, Scratch& scratch, int32_t*) {
    if (scratch.template get<0>() < 0) {
      blame(slots::device_count::name,
            "counted " + std::to_string(scratch.template get<0>()) + " devices");
    }
  }
  template <class Scratch>
  void receive(slots::event_create, Scratch& scratch, int32_t device, uint32_t flags,
               outback_event*) {
    objects_.set(event_kind, scratch.template get<2>(), device, flags, event_kind);
  }
  template <class Scratch>
  void receive(slots::host_register, Scratch&, void* ptr, std::size_t size) {
    receive_registration(ptr, size);
  }
  template <class Scratch>
  void receive(slots::peer_can_access, Scratch& scratch, int32_t device, int32_t peer, int32_t*) {
    if (device == peer && scratch.template get<2>() != 0) {
      blame(slots::peer_can_access::name,
            "made device " + std::to_string(device) + " a peer of itself");
    }
  }
  template <class Scratch>
  void receive(slots::native_wrap_stream, Scratch& scratch, int32_t device, void*,
               outback_stream*) {
    objects_.set(handle_name<outback_stream>, scratch.template get<2>(), device, 0,
                 "wrapped stream");
  }
  template <class Scratch>
  void receive(slots::ipc_get_memory, Scratch& scratch, int32_t, void*, outback_ipc_handle*) {
    check_made(slots::ipc_get_memory::name, scratch.template get<2>());
  }
  template <class Scratch>
  void receive(slots::ipc_get_event, Scratch& scratch, int32_t, outback_event,
               outback_ipc_handle*) {
    check_made(slots::ipc_get_event::name, scratch.template get<2>());
  }
  template <class Scratch>
  void receive(slots::ipc_open_memory, Scratch& scratch, int32_t device, const outback_ipc_handle*,
               void**) {
    receive_opened(scratch.template get<2>(), device);
  }
  template <class Scratch>
  void receive(slots::ipc_open_event, Scratch& scratch, int32_t device, const outback_ipc_handle*,
               outback_event*) {
    objects_.set(event_kind, scratch.template get<2>(), device, OUTBACK_EVENT_INTERPROCESS,
                 "opened event");
  }
  template <class Scratch>
  void receive(slots::graph_begin, Scratch&, int32_t device, outback_stream stream) {
    receive_begin(device, stream);
  }
  template <class Scratch>
  void receive(slots::graph_status, Scratch& scratch, int32_t, outback_stream, outback_capture*) {
    const outback_capture capture = scratch.template get<2>();
    if (capture < OUTBACK_CAPTURE_NONE || capture > OUTBACK_CAPTURE_BROKEN) {
      blame(slots::graph_status::name,
            "made *capture " + std::to_string(capture) + ", which there is not");
    }
  }
  template <class Scratch>
  void receive(slots::graph_instantiate, Scratch&, int32_t device, outback_graph graph) {
    receive_instantiated(device, graph);
  }

  /// Keeps `ptr`, or gives it back and throws.
  template <class Free>
  void receive_memory(const char* slot, void* ptr, std::size_t size, int32_t device,
                      uint32_t alignment, Free&& free) {
    try {
      keep_memory(slot, ptr, size, device, alignment);
    } catch (const overlap&) {
      throw;  // it is somebody's: what would be freed is theirs
    } catch (...) {
      if (ptr != nullptr) free();
      throw;
    }
  }
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
  void receive_registration(void* ptr, std::size_t size);
  void receive_opened(void* ptr, int32_t device);

  // ---- Peers, IPC handles, graphs

  static void check_two(const char* slot, int32_t device, int32_t peer);
  static void check_given(const char* slot, const outback_ipc_handle* handle);
  static void check_made(const char* slot, const outback_ipc_handle& handle);
  void receive_begin(int32_t device, outback_stream stream);
  void receive_instantiated(int32_t device, outback_graph graph);

  // ---- Devices

  void check_not_lost(const std::set<int32_t>& devices) const;
  void lose(const char* slot, const std::set<int32_t>& devices);
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
