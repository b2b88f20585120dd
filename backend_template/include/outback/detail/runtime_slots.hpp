// The slots of the table that `outback::table_of` makes of a runtime class R. Each slot checks what
// a class should not have to check (null pointers, pattern sizes, struct sizes), calls one member
// of R, and turns what that throws into a status.
//
// The order matters in every slot: null pointers and structs without a size are refused first, then
// the member runs, and the output is written last. So a failure leaves the outputs as they were, as
// outback/runtime.h demands.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "outback/detail/runtime_members.hpp"
#include "outback/runtime.h"
#include "outback/runtime_error.hpp"

namespace outback::detail {

/// Throws invalid_argument if `pointer` is null. `name` is the argument's name in the text.
inline void need(const void* pointer, const char* name) {
  if (pointer == nullptr) throw invalid_argument(std::string(name) + " is null");
}

/// Throws invalid_argument if the caller has not set the `struct_size` of its struct, which is less
/// than `least` bytes then.
inline void need_size(uint32_t struct_size, std::size_t least = sizeof(uint32_t)) {
  if (struct_size >= least) return;
  throw invalid_argument("struct_size is " + std::to_string(struct_size) +
                         ": the caller must set it to the size of its struct");
}

/// Copies `value` to `*out`, but no further than the caller's `struct_size`, and leaves that member
/// as it is. `need_size` must have passed.
template <class T>
void write_sized(T* out, const T& value) {
  const std::size_t size = std::min<std::size_t>(out->struct_size, sizeof(T));
  std::memcpy(reinterpret_cast<char*>(out) + sizeof(uint32_t),
              reinterpret_cast<const char*>(&value) + sizeof(uint32_t), size - sizeof(uint32_t));
}

/// Writes the count of all processes, and as many of them as the caller has room for. `need_size`
/// must have passed, with room for the count.
inline void write_list(outback_processes* out, const std::vector<outback_process>& all) {
  constexpr std::size_t head = offsetof(outback_processes, list);
  const std::size_t room = (out->struct_size - head) / sizeof(outback_process);
  out->count = uint32_t(all.size());
  std::copy_n(all.begin(), std::min(all.size(), room),
              reinterpret_cast<outback_process*>(reinterpret_cast<char*>(out) + head));
}

/// All slots for the class R. A slot that R has no member for is never instantiated, since only the
/// functions at the end name it, inside `if constexpr`.
template <class R>
struct slots {
  /// `self` is the object that was given to `table_of`.
  static R& of(void* self) noexcept { return *static_cast<R*>(self); }

  /// Runs `body`, and returns OUTBACK_OK or the status of what it threw. For slots that cannot
  /// answer OUTBACK_NOT_READY; the others use `guarded` themselves.
  template <class Body>
  static outback_status run(Body&& body) noexcept {
    return guarded([&] { return body(), OUTBACK_OK; });
  }

  // ---- Required

  // One text for each thread, shared by all runtimes of this library that are written as a class.
  static const char* last_error(void*) noexcept { return error_text; }

  static outback_status device_count(void* self, int32_t* count) noexcept {
    return run([&] { need(count, "count"), *count = of(self).device_count(); });
  }
  static outback_status device_info(void* self, int32_t d, outback_device_info* info) noexcept {
    return run([&] {
      need(info, "info"), need_size(info->struct_size);
      write_sized<outback_device_info>(info, of(self).device_info(d));
    });
  }
  static outback_status device_sync(void* self, int32_t d) noexcept {
    return run([&] { of(self).device_sync(d); });
  }
  static outback_status mem_alloc(void* self, int32_t d, std::size_t size, void** ptr) noexcept {
    return run([&] { need(ptr, "ptr"), *ptr = of(self).mem_alloc(d, size); });
  }
  static outback_status mem_free(void* self, int32_t d, void* ptr) noexcept {
    return run([&] { of(self).mem_free(d, ptr); });
  }
  static outback_status mem_copy(void* self, void* dst, int32_t dst_device, const void* src,
                                 int32_t src_device, std::size_t size,
                                 outback_stream stream) noexcept {
    return run([&] {
      // Zero bytes may come with null pointers. The class is asked all the same: it checks the
      // devices and the stream.
      if (size != 0) need(dst, "dst"), need(src, "src");
      of(self).mem_copy(dst, dst_device, src, src_device, size, stream);
    });
  }
  static outback_status mem_fill(void* self, int32_t d, void* ptr, std::size_t size,
                                 const void* pattern, std::size_t pattern_size,
                                 outback_stream stream) noexcept {
    return run([&] {
      need(pattern, "pattern");
      if (size != 0) need(ptr, "ptr");
      if (pattern_size != 1 && pattern_size != 2 && pattern_size != 4 && pattern_size != 8) {
        throw invalid_argument("pattern_size is " + std::to_string(pattern_size) +
                               ": it must be 1, 2, 4 or 8");
      }
      if (size % pattern_size != 0) {
        throw invalid_argument("size " + std::to_string(size) + " is no multiple of pattern_size " +
                               std::to_string(pattern_size));
      }
      of(self).mem_fill(d, ptr, size, pattern, pattern_size, stream);
    });
  }

  // ---- streams: a null stream is the default stream, so only the class can refuse one.

  static outback_status stream_create(void* self, int32_t d, int32_t priority,
                                      outback_stream* stream) noexcept {
    return run([&] { need(stream, "stream"), *stream = of(self).stream_create(d, priority); });
  }
  static outback_status stream_destroy(void* self, int32_t d, outback_stream stream) noexcept {
    return run([&] { of(self).stream_destroy(d, stream); });
  }
  static outback_status stream_query(void* self, int32_t d, outback_stream stream) noexcept {
    return guarded(
        [&] { return of(self).stream_query(d, stream) ? OUTBACK_OK : OUTBACK_NOT_READY; });
  }
  static outback_status stream_sync(void* self, int32_t d, outback_stream stream) noexcept {
    return run([&] { of(self).stream_sync(d, stream); });
  }
  static outback_status stream_priorities(void* self, int32_t d, int32_t* least,
                                          int32_t* greatest) noexcept {
    return run([&] {
      need(least, "least"), need(greatest, "greatest");
      const priority_range range = of(self).stream_priorities(d);
      *least = range.least;
      *greatest = range.greatest;
    });
  }

  // ---- events: there is no default event, so null is refused here.

  static outback_status event_create(void* self, int32_t d, uint32_t flags,
                                     outback_event* event) noexcept {
    return run([&] { need(event, "event"), *event = of(self).event_create(d, flags); });
  }
  static outback_status event_destroy(void* self, int32_t d, outback_event event) noexcept {
    return run([&] { need(event, "event"), of(self).event_destroy(d, event); });
  }
  static outback_status event_record(void* self, int32_t d, outback_event event,
                                     outback_stream stream) noexcept {
    return run([&] { need(event, "event"), of(self).event_record(d, event, stream); });
  }
  static outback_status event_wait(void* self, int32_t d, outback_event event,
                                   outback_stream stream) noexcept {
    return run([&] { need(event, "event"), of(self).event_wait(d, event, stream); });
  }
  static outback_status event_query(void* self, int32_t d, outback_event event) noexcept {
    return guarded([&] {
      need(event, "event");
      return of(self).event_query(d, event) ? OUTBACK_OK : OUTBACK_NOT_READY;
    });
  }
  static outback_status event_sync(void* self, int32_t d, outback_event event) noexcept {
    return run([&] { need(event, "event"), of(self).event_sync(d, event); });
  }
  static outback_status event_elapsed(void* self, outback_event from, outback_event to,
                                      int64_t* ns) noexcept {
    return guarded([&] {
      need(from, "from"), need(to, "to"), need(ns, "ns");
      const std::optional<int64_t> elapsed = of(self).event_elapsed(from, to);
      if (!elapsed) return OUTBACK_NOT_READY;
      *ns = *elapsed;
      return OUTBACK_OK;
    });
  }

  // ---- host_memory: null may be freed, and `info` accepts every pointer.

  static outback_status host_alloc(void* self, std::size_t size, void** ptr) noexcept {
    return run([&] { need(ptr, "ptr"), *ptr = of(self).host_alloc(size); });
  }
  static outback_status host_free(void* self, void* ptr) noexcept {
    return run([&] { of(self).host_free(ptr); });
  }
  static outback_status host_info(void* self, const void* ptr,
                                  outback_pointer_info* info) noexcept {
    return run([&] {
      need(info, "info"), need_size(info->struct_size);
      write_sized<outback_pointer_info>(info, of(self).host_info(ptr));
    });
  }

  // ---- device_state

  static outback_status device_select(void* self, int32_t d) noexcept {
    return run([&] { of(self).device_select(d); });
  }
  static outback_status device_is_active(void* self, int32_t d, int32_t* active) noexcept {
    return run([&] { need(active, "active"), *active = of(self).device_is_active(d) ? 1 : 0; });
  }
  static outback_status memory_usage(void* self, int32_t d, std::size_t* free,
                                     std::size_t* total) noexcept {
    return run([&] {
      need(free, "free"), need(total, "total");
      const memory_amount amount = of(self).memory_usage(d);
      *free = amount.free;
      *total = amount.total;
    });
  }

  // ---- host_registration: unlike memory from `alloc`, a range must be there.

  static outback_status host_register(void* self, void* ptr, std::size_t size) noexcept {
    return run([&] {
      need(ptr, "ptr");
      if (size == 0) throw invalid_argument("size is 0");
      of(self).host_register(ptr, size);
    });
  }
  static outback_status host_unregister(void* self, void* ptr) noexcept {
    return run([&] { need(ptr, "ptr"), of(self).host_unregister(ptr); });
  }

  // ---- peer

  // A device is no peer of itself. `peer_can_access` is a question and may ask about one device:
  // the class answers false.
  static void need_two(int32_t device, int32_t peer) {
    if (device == peer) {
      throw invalid_argument("device " + std::to_string(device) + " is no peer of itself");
    }
  }
  static outback_status peer_can_access(void* self, int32_t d, int32_t peer,
                                        int32_t* can) noexcept {
    return run([&] { need(can, "can"), *can = of(self).peer_can_access(d, peer) ? 1 : 0; });
  }
  static outback_status peer_enable(void* self, int32_t d, int32_t peer) noexcept {
    return run([&] { need_two(d, peer), of(self).peer_enable(d, peer); });
  }
  static outback_status peer_disable(void* self, int32_t d, int32_t peer) noexcept {
    return run([&] { need_two(d, peer), of(self).peer_disable(d, peer); });
  }

  // ---- native: a handle of the driver may be null, so the class checks `handle` of wrap_stream.

  static outback_status native_device(void* self, int32_t d, void** handle) noexcept {
    return run([&] { need(handle, "handle"), *handle = of(self).native_device(d); });
  }
  static outback_status native_context(void* self, int32_t d, void** handle) noexcept {
    return run([&] { need(handle, "handle"), *handle = of(self).native_context(d); });
  }
  static outback_status native_stream(void* self, int32_t d, outback_stream stream,
                                      void** handle) noexcept {
    return run([&] { need(handle, "handle"), *handle = of(self).native_stream(d, stream); });
  }
  static outback_status native_event(void* self, int32_t d, outback_event event,
                                     void** handle) noexcept {
    return run([&] {
      need(event, "event"), need(handle, "handle");
      *handle = of(self).native_event(d, event);
    });
  }
  static outback_status native_wrap_stream(void* self, int32_t d, void* handle,
                                           outback_stream* stream) noexcept {
    return run([&] { need(stream, "stream"), *stream = of(self).native_wrap_stream(d, handle); });
  }

  // ---- callbacks: `data` is the caller's and may be null.

  static outback_status callback_enqueue(void* self, int32_t d, outback_callback callback,
                                         void* data, outback_stream stream) noexcept {
    return run([&] {
      if (callback == nullptr) throw invalid_argument("callback is null");
      of(self).callback_enqueue(d, callback, data, stream);
    });
  }

  // ---- ipc

  // A part of a handle opens nothing. So, unlike other structs, a handle must have its whole size.
  static void need_whole(const outback_ipc_handle& handle) {
    if (handle.struct_size >= sizeof(outback_ipc_handle)) return;
    throw invalid_argument("handle->struct_size is " + std::to_string(handle.struct_size) +
                           ": a handle needs " + std::to_string(sizeof(outback_ipc_handle)));
  }
  // For handles that come from another process, which may be anything: the class may then read
  // `size` bytes without a check of its own.
  static void need_handle(const outback_ipc_handle* handle) {
    need(handle, "handle");
    need_whole(*handle);
    if (handle->size <= sizeof(handle->bytes)) return;
    throw invalid_argument("handle->size is " + std::to_string(handle->size) + ": at most " +
                           std::to_string(sizeof(handle->bytes)) + " were expected");
  }
  static outback_status ipc_get_memory(void* self, int32_t d, void* ptr,
                                       outback_ipc_handle* handle) noexcept {
    return run([&] {
      need(ptr, "ptr"), need(handle, "handle");
      need_whole(*handle);
      write_sized<outback_ipc_handle>(handle, of(self).ipc_get_memory(d, ptr));
    });
  }
  static outback_status ipc_open_memory(void* self, int32_t d, const outback_ipc_handle* handle,
                                        void** ptr) noexcept {
    return run([&] {
      need_handle(handle), need(ptr, "ptr");
      *ptr = of(self).ipc_open_memory(d, *handle);
    });
  }
  static outback_status ipc_close_memory(void* self, int32_t d, void* ptr) noexcept {
    return run([&] { need(ptr, "ptr"), of(self).ipc_close_memory(d, ptr); });
  }
  static outback_status ipc_get_event(void* self, int32_t d, outback_event event,
                                      outback_ipc_handle* handle) noexcept {
    return run([&] {
      need(event, "event"), need(handle, "handle");
      need_whole(*handle);
      write_sized<outback_ipc_handle>(handle, of(self).ipc_get_event(d, event));
    });
  }
  static outback_status ipc_open_event(void* self, int32_t d, const outback_ipc_handle* handle,
                                       outback_event* event) noexcept {
    return run([&] {
      need_handle(handle), need(event, "event");
      *event = of(self).ipc_open_event(d, *handle);
    });
  }

  // ---- graphs

  static outback_status graph_begin(void* self, int32_t d, outback_stream stream) noexcept {
    return run([&] { of(self).graph_begin(d, stream); });
  }
  static outback_status graph_status(void* self, int32_t d, outback_stream stream,
                                     outback_capture* capture) noexcept {
    return run([&] { need(capture, "capture"), *capture = of(self).graph_status(d, stream); });
  }
  static outback_status graph_end(void* self, int32_t d, outback_stream stream,
                                  outback_graph* graph) noexcept {
    return run([&] { need(graph, "graph"), *graph = of(self).graph_end(d, stream); });
  }
  static outback_status graph_instantiate(void* self, int32_t d, outback_graph graph) noexcept {
    return run([&] { need(graph, "graph"), of(self).graph_instantiate(d, graph); });
  }
  static outback_status graph_launch(void* self, int32_t d, outback_graph graph,
                                     outback_stream stream) noexcept {
    return run([&] { need(graph, "graph"), of(self).graph_launch(d, graph, stream); });
  }
  static outback_status graph_destroy(void* self, int32_t d, outback_graph graph) noexcept {
    return run([&] { need(graph, "graph"), of(self).graph_destroy(d, graph); });
  }

  // ---- telemetry

  static outback_status telemetry_read(void* self, int32_t d, outback_metric metric,
                                       int64_t* value) noexcept {
    return run([&] { need(value, "value"), *value = of(self).telemetry_read(d, metric); });
  }
  static outback_status telemetry_processes(void* self, int32_t d,
                                            outback_processes* processes) noexcept {
    return run([&] {
      need(processes, "processes");
      need_size(processes->struct_size, offsetof(outback_processes, list));
      write_list(processes, of(self).telemetry_processes(d));
    });
  }

  // ---- The groups: a struct that is shared by all objects of the class R, or null if R does not
  // have all members of the group. `self` is in the table, not in the groups.

  static const outback_streams* streams() noexcept {
    if constexpr (has_streams<R>) {
      static constexpr outback_streams group = {.struct_size = sizeof(outback_streams),
                                                .reserved = 0,
                                                .create = stream_create,
                                                .destroy = stream_destroy,
                                                .query = stream_query,
                                                .sync = stream_sync,
                                                .priorities = stream_priorities};
      return &group;
    }
    return nullptr;
  }
  static const outback_events* events() noexcept {
    if constexpr (has_events<R>) {
      static constexpr outback_events group = {.struct_size = sizeof(outback_events),
                                               .reserved = 0,
                                               .create = event_create,
                                               .destroy = event_destroy,
                                               .record = event_record,
                                               .wait = event_wait,
                                               .query = event_query,
                                               .sync = event_sync,
                                               .elapsed = event_elapsed};
      return &group;
    }
    return nullptr;
  }
  static const outback_host_memory* host_memory() noexcept {
    if constexpr (has_host_memory<R>) {
      static constexpr outback_host_memory group = {.struct_size = sizeof(outback_host_memory),
                                                    .reserved = 0,
                                                    .alloc = host_alloc,
                                                    .free = host_free,
                                                    .info = host_info};
      return &group;
    }
    return nullptr;
  }
  static const outback_device_state* device_state() noexcept {
    if constexpr (has_device_state<R>) {
      static constexpr outback_device_state group = {.struct_size = sizeof(outback_device_state),
                                                     .reserved = 0,
                                                     .select = device_select,
                                                     .is_active = device_is_active,
                                                     .memory_usage = memory_usage};
      return &group;
    }
    return nullptr;
  }
  static const outback_host_registration* host_registration() noexcept {
    if constexpr (has_host_registration<R>) {
      static constexpr outback_host_registration group = {
          .struct_size = sizeof(outback_host_registration),
          .reserved = 0,
          .add = host_register,
          .remove = host_unregister};
      return &group;
    }
    return nullptr;
  }
  static const outback_peer* peer() noexcept {
    if constexpr (has_peer<R>) {
      static constexpr outback_peer group = {.struct_size = sizeof(outback_peer),
                                             .reserved = 0,
                                             .can_access = peer_can_access,
                                             .enable = peer_enable,
                                             .disable = peer_disable};
      return &group;
    }
    return nullptr;
  }
  static const outback_native* native() noexcept {
    if constexpr (has_native<R>) {
      static constexpr outback_native group = {.struct_size = sizeof(outback_native),
                                               .reserved = 0,
                                               .device = native_device,
                                               .context = native_context,
                                               .stream = native_stream,
                                               .event = native_event,
                                               .wrap_stream = native_wrap_stream};
      return &group;
    }
    return nullptr;
  }
  static const outback_callbacks* callbacks() noexcept {
    if constexpr (has_callbacks<R>) {
      static constexpr outback_callbacks group = {
          .struct_size = sizeof(outback_callbacks), .reserved = 0, .enqueue = callback_enqueue};
      return &group;
    }
    return nullptr;
  }
  static const outback_ipc* ipc() noexcept {
    if constexpr (has_ipc<R>) {
      static constexpr outback_ipc group = {.struct_size = sizeof(outback_ipc),
                                            .reserved = 0,
                                            .get_memory = ipc_get_memory,
                                            .open_memory = ipc_open_memory,
                                            .close_memory = ipc_close_memory,
                                            .get_event = ipc_get_event,
                                            .open_event = ipc_open_event};
      return &group;
    }
    return nullptr;
  }
  static const outback_graphs* graphs() noexcept {
    if constexpr (has_graphs<R>) {
      static constexpr outback_graphs group = {.struct_size = sizeof(outback_graphs),
                                               .reserved = 0,
                                               .begin = graph_begin,
                                               .status = graph_status,
                                               .end = graph_end,
                                               .instantiate = graph_instantiate,
                                               .launch = graph_launch,
                                               .destroy = graph_destroy};
      return &group;
    }
    return nullptr;
  }
  static const outback_telemetry* telemetry() noexcept {
    if constexpr (has_telemetry<R>) {
      static constexpr outback_telemetry group = {.struct_size = sizeof(outback_telemetry),
                                                  .reserved = 0,
                                                  .read = telemetry_read,
                                                  .processes = telemetry_processes};
      return &group;
    }
    return nullptr;
  }

  /// The table of `object`, which is borrowed: see `table_of`.
  static outback_runtime table(R& object) noexcept {
    return {.struct_size = sizeof(outback_runtime),
            .abi_major = OUTBACK_ABI_MAJOR,
            .abi_minor = OUTBACK_ABI_MINOR,
            .self = std::addressof(object),
            .last_error = last_error,
            .device_count = device_count,
            .device_info = device_info,
            .device_sync = device_sync,
            .mem_alloc = mem_alloc,
            .mem_free = mem_free,
            .mem_copy = mem_copy,
            .mem_fill = mem_fill,
            .streams = streams(),
            .events = events(),
            .host_memory = host_memory(),
            .device_state = device_state(),
            .host_registration = host_registration(),
            .peer = peer(),
            .native = native(),
            .callbacks = callbacks(),
            .ipc = ipc(),
            .graphs = graphs(),
            .telemetry = telemetry()};
  }
};

}  // namespace outback::detail
