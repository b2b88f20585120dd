// How to write a runtime in C++20: a class with the members below, of which
// `outback::table_of(object)` makes the table of C functions that Outback needs.
//
// Each member stands for one slot of outback/runtime.h. That header is the contract: it says what
// each slot does and states the rules for ownership, order, threads and units. A class says the
// same with return values and exceptions. This header needs no torch and includes none.
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
//              std::optional<int64_t> event_elapsed(from, to)  nullopt: one is not complete yet
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
//   Types      device and priority are int32_t, every size is size_t, flags is uint32_t. ptr and
//              dst are void*, src and pattern are const void*. Sizes are in bytes, times are in
//              nanoseconds. The table provides the eighth required slot, last_error, itself. The
//              class need not set struct_size in the structs that it returns: the table writes as
//              much of them as its caller has room for.
//   Groups     A group is in the table if the class has all its members. A class that has some of
//              them, or a member with the right name and a wrong signature, does not compile, and
//              the message names the missing member. outback_runtime in outback/runtime.h says
//              which group needs which other group.
//   Errors     Members throw outback::invalid_argument, out_of_memory, device_lost or unsupported,
//              or any outback::runtime_error (outback/runtime_error.hpp). The table turns the
//              exception into the status; std::bad_alloc becomes OUTBACK_OUT_OF_MEMORY, every other
//              exception OUTBACK_INTERNAL. The table keeps the text, cut to 1023 bytes, for
//              last_error of the thread that called.
//   Checks     The table itself refuses null pointers where something is required, null events and
//              graphs, and wrong sizes of patterns and structs. The class checks device indices,
//              streams and memory: outback::check_device(device, count) throws the usual text.
//   Threads    Members are called from any thread, also at the same time. The table holds no lock.
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

/// A class that `table_of` is meant for: it has all required members and each group whole or not at
/// all. If your class fails it, call `table_of`: its messages name the missing member, which a
/// `static_assert` on this concept does not.
template <class R>
concept device_runtime = detail::has_required<R> && detail::has_whole_groups<R>;

/// Returns the table whose slots call the members of `object`. Never null; a second call for the
/// same object returns the same table.
///
/// The table borrows `object`, which must outlive every call of a slot: leak it, unless you know
/// that all callers end before it does. The table itself (one small struct for each object) lives
/// until the process ends. May be called from any thread. Throws std::bad_alloc only; a class that
/// is no runtime does not compile.
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
