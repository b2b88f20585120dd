// The dialect's words on the host: a function of C++ runs one group, and a region is a loop over
// the group's items, which the compiler can vectorize. So a BARRIER costs nothing, and one that is
// missing is not noticed: dialect/fibers.hpp notices it.
#pragma once
#include <cstddef>
// Of libstdc++'s <math.h>, only the overloads of f32 and f64 under C's names are wanted: its
// special functions are half of the time in which a small kernel compiles.
#undef _GLIBCXX_USE_STD_SPEC_FUNCS
#include <math.h>

#include <cstdint>
#include <type_traits>
#include <utility>

#include "outback/host_kernel.h"

typedef int8_t i8;
typedef uint8_t u8;
typedef int16_t i16;
typedef uint16_t u16;
typedef int32_t i32;
typedef uint32_t u32;
typedef int64_t i64;
typedef uint64_t u64;
typedef float f32;
typedef double f64;
#ifndef HAS_F64
#define HAS_F64
#endif
#ifndef HAS_I64_ATOMICS
#define HAS_I64_ATOMICS
#endif

#define GLOBAL
#define DEVICE [[maybe_unused]] static inline
#define GROUP group_
#define GROUPS i64(launch_->groups[0])
// A group's memory is on the stack of the thread that runs it. Devices have less of it.
#define OUTBACK_LOCAL_FITS(T, n)                           \
  static_assert(sizeof(T) * (n) <= std::size_t{256} << 10, \
                "too much local memory: the host gives a group at most 256 KiB in one array")
#ifdef OUTBACK_DIALECT_FIBERS
#include "outback/dialect/fibers.hpp"
#define LOCAL(T, name, n)   \
  OUTBACK_LOCAL_FITS(T, n); \
  static thread_local T name[n]
#define LID outback_dialect::fibers<LSIZE>::mine().item()
#define BARRIER outback_dialect::fibers<LSIZE>::mine().wait_at(__LINE__)
#else
#define LOCAL(T, name, n)   \
  OUTBACK_LOCAL_FITS(T, n); \
  alignas(64) T name[n]
#define LID lid_
#define BARRIER static_cast<void>(0)
#define ITEMS for (i32 lid_ = 0; lid_ < LSIZE; ++lid_)
#define ITEMS_BELOW(n) for (i32 lid_ = 0, end_ = outback_dialect::below(n); lid_ < end_; ++lid_)
#define EACH(i, n)                                                                         \
  for (i64 base_ = GROUP * LSIZE, count_ = (n); base_ < count_; base_ += GROUPS * LSIZE)   \
    for (i32 lid_ = 0, end_ = outback_dialect::below(count_ - base_); lid_ < end_; ++lid_) \
      if (i64 i = base_ + lid_; true)
#define PRIVATE(T, name) T name##_own[LSIZE]
#define PRIVATES(T, name, n)                                                           \
  static_assert(sizeof(T) * (n) * LSIZE <= std::size_t{1} << 20,                       \
                "too much private memory: the host gives a group 1 MiB in one array"); \
  T name##_own[LSIZE][n]
#define OWN(name) name##_own[lid_]
#endif

namespace outback_dialect {

// What a launch reports: a group of another size, or a BARRIER that not all items get to.
inline constexpr int32_t fault_of_size = 1, fault_of_barrier = 2;

inline i32 below(i64 n) {
  return n < 0 ? 0 : n < LSIZE ? i32(n) : LSIZE;
}

// Returns 0, or the number of the fault.
template <class Body>
int32_t run_group(const Body& body) {
#ifdef OUTBACK_DIALECT_FIBERS
  return fibers<LSIZE>::mine().run(body) ? 0 : fault_of_barrier;
#else
  body();
  return 0;
#endif
}

// What a module exports of a kernel whose group is run by `group`.
template <auto group>
struct kernel_of;
template <class... Args, void (*group)(const outback_host_groups*, i64, Args...)>
struct kernel_of<group> {
  static constexpr u32 sizes[] = {sizeof(Args)..., 0};  // not empty
  static constexpr u8 is_memory[] = {std::is_pointer_v<Args>..., 0};

  template <std::size_t... I>
  static int32_t run_groups(const outback_host_groups* launch, std::index_sequence<I...>) {
    int32_t fault = 0;
    for (u64 each = launch->first; each < launch->first + launch->count && fault == 0; ++each) {
      fault = run_group([&] {
        group(launch, i64(each), *static_cast<std::remove_cv_t<Args>*>(launch->arguments[I])...);
      });
    }
    return fault;
  }
  static int32_t run(const outback_host_groups* launch) {
    const bool fits = launch->items[0] == LSIZE && launch->items[1] == 1 && launch->items[2] == 1 &&
                      launch->groups[1] == 1 && launch->groups[2] == 1;
    return fits ? run_groups(launch, std::index_sequence_for<Args...>()) : fault_of_size;
  }
  static constexpr outback_host_kernel described = {
      sizeof(outback_host_kernel), sizeof...(Args), sizes, LSIZE, 0, &run, is_memory};
};

}  // namespace outback_dialect

#define KERNEL(name, ...) OUTBACK_DIALECT_KERNEL(name __VA_OPT__(, ) __VA_ARGS__)
#define OUTBACK_DIALECT_KERNEL(name, ...)                                               \
  static void name##_group(const outback_host_groups*, i64 __VA_OPT__(, ) __VA_ARGS__); \
  extern "C" __attribute__((visibility("default")))                                     \
  const outback_host_kernel outback_kernel_##name;                                      \
  const outback_host_kernel outback_kernel_##name =                                     \
      outback_dialect::kernel_of<name##_group>::described;                              \
  static void name##_group([[maybe_unused]] const outback_host_groups* launch_,         \
                           [[maybe_unused]] i64 group_ __VA_OPT__(, ) __VA_ARGS__)

DEVICE u32 bits_of_f32(f32 x) {
  return __builtin_bit_cast(u32, x);
}
DEVICE f32 f32_of_bits(u32 x) {
  return __builtin_bit_cast(f32, x);
}
DEVICE u64 bits_of_f64(f64 x) {
  return __builtin_bit_cast(u64, x);
}
DEVICE f64 f64_of_bits(u64 x) {
  return __builtin_bit_cast(f64, x);
}
#ifdef __F16C__
#include <immintrin.h>
#define HAS_F16_CONVERSION
DEVICE f32 f32_of_f16(u16 x) {
  return _cvtsh_ss(x);
}
DEVICE u16 f16_of_f32(f32 x) {
  return _cvtss_sh(x, 0);
}
#endif
DEVICE f32 rsqrt(f32 x) {
  return 1 / sqrt(x);
}
DEVICE f64 rsqrt(f64 x) {
  return 1 / sqrt(x);
}

DEVICE u32 swap_u32(volatile u32* p, u32 old, u32 now) {
  __atomic_compare_exchange_n(p, &old, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return old;
}
DEVICE u64 swap_u64(volatile u64* p, u64 old, u64 now) {
  __atomic_compare_exchange_n(p, &old, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return old;
}
