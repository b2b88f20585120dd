// How one writes a runtime in C++20: a class with these members, and `outback::table_of(object)`.
//
// The contract is outback/runtime.h, member by slot: ownership, order, threads and units are told
// there. The class says the same with return values and exceptions. No torch is needed, and none is
// included.
//
//   Required   int32_t device_count()
//              outback_device_info device_info(device)
//              void device_sync(device)
//              void* mem_alloc(device, size)
//              void mem_free(device, ptr)
//              void mem_copy(dst, dst_device, src, src_device, size, stream)
//              void mem_fill(device, ptr, size, pattern, pattern_size, stream)
//
//   streams    outback_stream stream_create(device, priority)
//              void stream_destroy(device, stream)
//              bool stream_query(device, stream)               true: all its work is done
//              void stream_sync(device, stream)
//              outback::priority_range stream_priorities(device)
//
//   events     outback_event event_create(device, flags)
//              void event_destroy(device, event)
//              void event_record(device, event, stream)
//              void event_wait(device, event, stream)
//              bool event_query(device, event)                 true: complete
//              void event_sync(device, event)
//              std::optional<int64_t> event_elapsed(from, to)  nullopt: one is still pending
//
//   host       void* host_alloc(size)
//   memory     void host_free(ptr)
//              outback_pointer_info host_info(ptr)
//
//   device     void device_select(device)
//   state      bool device_is_active(device)
//              outback::memory_amount memory_usage(device)
//
//   host registration    void host_register(ptr, size), void host_unregister(ptr)
//
//   peer       bool peer_can_access(device, peer)
//              void peer_enable(device, peer), void peer_disable(device, peer)
//
//   native     void* native_device(device)
//              void* native_context(device)
//              void* native_stream(device, stream)
//              void* native_event(device, event)
//              outback_stream native_wrap_stream(device, handle)
//
//   callbacks  void callback_enqueue(device, callback, data, stream)
//
//   ipc        outback_ipc_handle ipc_get_memory(device, ptr)
//              void* ipc_open_memory(device, const outback_ipc_handle&)
//              void ipc_close_memory(device, ptr)
//              outback_ipc_handle ipc_get_event(device, event)
//              outback_event ipc_open_event(device, const outback_ipc_handle&)
//
//   graphs     void graph_begin(device, stream)
//              outback_capture graph_status(device, stream)
//              outback_graph graph_end(device, stream)
//              void graph_instantiate(device, graph)
//              void graph_launch(device, graph, stream)
//              void graph_destroy(device, graph)
//
//   telemetry  int64_t telemetry_read(device, metric)
//              std::vector<outback_process> telemetry_processes(device)
//
//   Types      device is int32_t, every size size_t, flags uint32_t, ptr and dst void*, src and
//              pattern const void*. The eighth required slot, last_error, is the table's own.
//              Structs that are returned need no struct_size: the table writes what its caller has
//              room for.
//   Groups     A group is in the table when the class has all of it. A class with a part of one, or
//              with a member of the right name and a wrong signature, does not compile, and the
//              message says which member is missing. Which group needs which, the header says.
//   Errors     Throw outback::invalid_argument, out_of_memory, device_lost or unsupported, or any
//              outback::runtime_error. std::bad_alloc becomes OUTBACK_OUT_OF_MEMORY, everything
//              else OUTBACK_INTERNAL. The text is kept, cut to 1023 bytes, for the thread that
//              called.
//   Checks     The table refuses null pointers where something has to be, null events, and bad
//              sizes of patterns and structs before it calls the class. Device indices, streams and
//              memory are the class's to check: outback::check_device(device, count) throws the
//              usual text.
//   Threads    Members are called from any thread, at the same time. The table takes no lock.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <type_traits>

#include "outback/detail/runtime_members.hpp"
#include "outback/detail/runtime_slots.hpp"
#include "outback/runtime.h"
#include "outback/runtime_error.hpp"

namespace outback {

/// A class that `table_of` accepts: all required members, and no part of a group. Where it fails,
/// `table_of` explains better than a `static_assert` on this does.
template <class R>
concept device_runtime = detail::has_required<R> && detail::has_whole_groups<R>;

/// The table of `object`, whose members become its slots. The same object has the same table.
///
/// `object` is borrowed and must outlive every call of a slot: leak it, unless all callers are
/// known to be gone before it is. The table lives as long as the process (one small struct for each
/// object). May be called from any thread; throws std::bad_alloc only.
template <class R>
const outback_runtime* table_of(R& object) {
  static_assert(!std::is_const_v<R>, "outback: the slots call members that need not be const");
  static_assert(detail::explain_members<R>());
  // Leaked: tables may be called after the destructors of static objects have run.
  static auto& mutex = *new std::mutex;
  static auto& tables = *new std::map<const R*, outback_runtime>;
  const std::lock_guard lock(mutex);
  return &tables.try_emplace(std::addressof(object), detail::slots<R>::table(object)).first->second;
}

}  // namespace outback
