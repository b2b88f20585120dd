// A made-up language for kernels, which is C++ with other words than any other language has: no
// double, teams of at most 64 units, and memory that is named where it lies.
//
//   entry(name, parameters) { body }   a kernel
//   far                                before what lies in the device's memory
//   near_memory(type, name, count)     memory of the team
//   unit_number(), team_number(), team_count()
//   meet()                             all units of the team wait for each other
//
// Its compiler (compiler.py) makes a shared object with units as fibers, so that a missing meet()
// is noticed here too.
#pragma once
#include <math.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "outback/dialect/fibers.hpp"
#include "outback/host_kernel.h"

namespace made_up {

inline constexpr int units = MADE_UP_UNITS;
using team = outback_dialect::fibers<units>;
inline thread_local uint32_t number, count;

template <auto body>
struct kernel_of;
template <class... Args, void (*body)(Args...)>
struct kernel_of<body> {
  static constexpr uint32_t sizes[] = {sizeof(Args)...};

  template <std::size_t... I>
  static int32_t run_team(void* const* arguments, std::index_sequence<I...>) {
    const auto call = [&] { body(*static_cast<std::remove_cv_t<Args>*>(arguments[I])...); };
    return team::mine().run(call) ? 0 : 1;
  }
  static int32_t run(const outback_host_groups* launch) {
    if (launch->items[0] != units) return 2;
    count = launch->groups[0];
    for (uint64_t each = launch->first; each < launch->first + launch->count; ++each) {
      number = uint32_t(each);
      const int32_t fault = run_team(launch->arguments, std::index_sequence_for<Args...>());
      if (fault != 0) return fault;
    }
    return 0;
  }
  static constexpr outback_host_kernel described = {
      sizeof(outback_host_kernel), sizeof...(Args), sizes, units, 0, &run, nullptr};
};

}  // namespace made_up

#define entry(name, ...) made_up_entry(name, __VA_ARGS__)
#define made_up_entry(name, ...)                                                                \
  static void name##_body(__VA_ARGS__);                                                         \
  extern "C" __attribute__((visibility("default")))                                             \
  const outback_host_kernel outback_kernel_##name;                                              \
  const outback_host_kernel outback_kernel_##name = made_up::kernel_of<name##_body>::described; \
  static void name##_body(__VA_ARGS__)
#define far
#define near_memory(type, name, count) static thread_local type name[count]
#define unit_number() made_up::team::mine().item()
#define team_number() made_up::number
#define team_count() made_up::count
#define meet() made_up::team::mine().wait_at(__LINE__)
#define exchange_if_equal(p, old, now) __sync_val_compare_and_swap(p, old, now)
#define inverse_root(x) (1 / sqrtf(x))
