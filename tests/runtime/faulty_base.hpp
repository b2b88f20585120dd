// What the runtimes that are wrong on purpose have in common: the host's, but for one thing each.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <type_traits>

#include "backend_template/runtimes/host/event.hpp"
#include "backend_template/runtimes/host/host_runtime.hpp"
#include "outback/slot_list.hpp"
#include "tests/runtime/open_table.hpp"

namespace outback::host::faulty {

constexpr host_options options = {.devices = 2, .memory_size = uint64_t{512} << 20};

struct base : host_runtime {
  base() : host_runtime(options) {}
  static stream& of(outback_stream s) { return *reinterpret_cast<stream*>(s); }

  // Whoever believes a fault frees what is still in use. The test is to see wrong bytes, and not to
  // die of them.
  void mem_free(int32_t d, void* ptr) {
    really_sync();
    host_runtime::mem_free(d, ptr);
  }
  void host_free(void* ptr) {
    really_sync();
    host_runtime::host_free(ptr);
  }
  void really_sync() {
    for (int32_t d = 0; d < options.devices; ++d) host_runtime::device_sync(d);
  }
};

// As table_of, of an object that nobody else has. All faults share the slots of `base` but for
// those whose members they declare themselves: the compiler would take a minute to make all slots
// of all.
template <class Faulty>
const outback_runtime* table_of_a() {
  // The slots of both classes take the object for theirs: it begins with a base.
  base& object = *new Faulty;
  static_assert(!std::is_polymorphic_v<Faulty>);
  auto& table = *new open_table(*table_of(object));
#define OUTBACK_OWN_SLOT(group, slot, member, ...)                                     \
  if constexpr (!std::is_same_v<decltype(&Faulty::member), decltype(&base::member)>) { \
    table.at<slots::member>() = &outback::detail::call_slot<Faulty, slots::member>;    \
  }
#define OUTBACK_OWN_SLOTS(group, ...) OUTBACK_SLOTS_OF_##group(OUTBACK_OWN_SLOT)
  OUTBACK_OWN_SLOTS(runtime)
  OUTBACK_GROUPS(OUTBACK_OWN_SLOTS)
#undef OUTBACK_OWN_SLOTS
#undef OUTBACK_OWN_SLOT
  return &table.runtime;
}

/// By the name of what is wrong.
using faults = std::map<std::string, const outback_runtime* (*)()>;

/// Of faulty_answers.cpp.
const faults& faulty_answers();

}  // namespace outback::host::faulty
