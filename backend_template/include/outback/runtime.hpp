// How to write a runtime in C++20: write a class with the members below, and
// `outback::table_of(object)` makes the table of C functions that Outback needs.
//
// Each member stands for one slot of outback/runtime.h. That header is the contract: it says what
// each slot does and states the rules for ownership, order, threads and units. A class uses return
// values and exceptions instead of outputs and statuses. This header needs no torch and includes
// none.
//
//   Members    outback/slot_list.hpp lists the members by group, each beside its slot: the name,
//              the result and the parameters. A class must have the required members, which the
//              list calls "runtime": device_count, device_info, device_sync, mem_alloc, mem_free,
//              mem_copy and mem_fill. The table provides the eighth required slot, last_error,
//              itself.
//   Results    A bool means yes or no, or whether the work is done. If the list has a
//              std::optional, nullopt means that the work is not done yet.
//   Types      device and priority are int32_t, every size is size_t, flags is uint32_t. ptr and
//              dst are void*, src and pattern are const void*. Sizes are in bytes, times are in
//              nanoseconds. The class need not set struct_size in the structs that it returns: the
//              table writes as much of them as its caller has room for.
//   Groups     A group is in the table if the class has all members of the group. A class with only
//              some of the members, or with a member of the right name and a wrong signature, does
//              not compile, and the message names the missing member. outback_runtime in
//              outback/runtime.h says which group needs which other group.
//   Errors     Members throw outback::invalid_argument, out_of_memory, device_lost or unsupported,
//              or any outback::runtime_error (outback/runtime_error.hpp). The table turns the
//              exception into its status. std::bad_alloc becomes OUTBACK_OUT_OF_MEMORY, and every
//              other exception OUTBACK_INTERNAL. The table keeps the text, cut to 8191 bytes, for
//              last_error of the calling thread.
//   Checks     The table itself refuses null for pointers that must not be null, null events and
//              graphs, and wrong sizes of patterns and structs. The class checks device indices,
//              streams and memory: outback::check_device(device, count) throws the usual text.
//   Threads    Members are called from any thread, also by several threads at once. The table holds
//              no lock.
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

/// A class that `table_of` accepts: it has all required members, and each group whole or not at
/// all. If your class does not satisfy this concept, call `table_of`: its messages name the missing
/// member, while a `static_assert` on this concept does not.
template <class R>
concept device_runtime = detail::is_runtime<R>();

/// Returns the table whose slots call the members of `object`. Never null; a second call for the
/// same object returns the same table.
///
/// The table borrows `object`, which must outlive every call of a slot: leak `object`, unless you
/// know that the last call comes before its destructor. The table itself (one small struct for each
/// object) lives until the process ends. May be called from any thread. Throws only std::bad_alloc.
/// A class that is not a runtime does not compile.
template <class R>
const outback_runtime* table_of(R& object) {
  static_assert(!std::is_const_v<R>, "outback: the slots call members that need not be const");
  static_assert(detail::explain_members<R>());
  // Leaked: tables may be called after the destructors of static objects have run.
  static auto& mutex = *new std::mutex;
  static auto& tables = *new std::map<const R*, outback_runtime>;
  const std::lock_guard lock(mutex);
  return &tables.try_emplace(std::addressof(object), detail::table_for(object)).first->second;
}

}  // namespace outback
