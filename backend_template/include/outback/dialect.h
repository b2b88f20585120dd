// The dialect: what a kernel may use so that one text runs on every device. Host compilers read it
// as C++20; OpenCL C (also clang's, for SPIR-V), CUDA C++ (NVRTC, nvcc), HIP, and a vendor's own
// language read the same text. A kernel is C99 without the things that one of these lacks: no
// templates, no recursion, no pointers to functions, no standard headers.
//
// A body belongs to a group of LSIZE items. What each item does stands in a region; code outside of
// regions is the group's, the same for all items, and may read arguments, GROUP, GROUPS and
// variables that are the same for all items.
//
//   KERNEL(name, parameters) { body }  a kernel; each group of its launches has LSIZE items
//   GROUP, GROUPS           the group's number, and how many groups the launch has (i64)
//   LSIZE                   how many items a group has: a power of two, 32 or more
//
//   ITEMS { ... }           a region: what each item does. LID is the item's number in the group
//                           (i32). No return, break, continue or goto leaves a region.
//   ITEMS_BELOW(n) { ... }  the same for the items below n only
//   ONE { ... }             the same for item 0 only: a serial part
//   EACH(i, n) { ... }      a region in which the items of all groups share the numbers 0 to n - 1
//   ROWS(r, n) { ... }      no region: the groups share the numbers 0 to n - 1
//   LANES(i, n) { ... }     inside of a region: the items of the group share the numbers 0 to n - 1
//   BARRIER;                between two regions of which one reads LOCAL memory that another item
//                           writes in the other, also from one turn of a loop to the next. All
//                           items of the group get to it.
//
//   LOCAL(type, name, n);     an array in memory of the group, declared at the top of the body
//   PRIVATE(type, name);      a variable of each item that lives across regions: OWN(name) in a
//                             region
//   PRIVATES(type, name, n);  the same, an array: OWN(name)[i]
//   GLOBAL                    before the type that a pointer into the device's memory points to
//   DEVICE                    before a function that kernels call
//
// Types: i8 u8 i16 u16 i32 u32 i64 u64 f32, and f64 where HAS_F64 is defined. f16 and bf16 are 16
// bits in memory: load_f16(p, i) returns p[i] as f32, and store_f16(p, i, v) writes v to p[i]. A
// bool is a b8. Every type of a tensor has these two functions, for kernels that are written once
// for several types. Mathematical functions have C's names and take f32 or f64. Functions of a
// kernel's own have other names than OpenCL C's functions: clamp, min, max, mix, step, sign and so
// on are taken there.
//
// dialect/collectives.h: sums, maxima and the like over a group. dialect/storage.h: load_ and
// store_. dialect/atomics.h: additions to memory that several items add to. dialect/special.h:
// PyTorch's special functions, if a kernel includes it.
//
// Defined by who compiles: LSIZE (by default 256), HAS_F64 and HAS_F16 if the device computes with
// float64 and float16, and HAS_I64_ATOMICS if it has atomic operations of 64 bits. For a language
// of a vendor's own, a header with its words stands before this one: docs/dialect.md has the list
// of the words.
#ifndef OUTBACK_DIALECT_H
#define OUTBACK_DIALECT_H

#ifndef LSIZE
#define LSIZE 256
#endif

#if defined(KERNEL)  // a vendor's header of words stands above this one
#elif defined(__OPENCL_VERSION__) || defined(__OPENCL_C_VERSION__)
#include "outback/dialect/opencl.h"
#elif defined(__CUDACC__) || defined(__CUDACC_RTC__) || defined(__HIP__)
#include "outback/dialect/cuda.h"
#else
#include "outback/dialect/host.hpp"
#endif

// So that a compiler says why it knows no f64.
#ifndef HAS_F64
#define f64 this_device_has_no_float64
#endif

// Where an item of the device runs the body itself, a region is the code of the item.
#ifndef ITEMS
#define ITEMS
#define ITEMS_BELOW(n) if (LID < (n))
#define EACH(i, n) for (i64 i = GROUP * LSIZE + LID; i < (n); i += GROUPS * LSIZE)
#define PRIVATE(T, name) T name##_own
#define PRIVATES(T, name, n) T name##_own[n]
#define OWN(name) name##_own
#endif
#define ONE ITEMS_BELOW(1)
#define ROWS(r, n) for (i64 r = GROUP; r < (n); r += GROUPS)
#define LANES(i, n) for (i64 i = LID; i < (n); i += LSIZE)

// JOIN(load_, T) is load_f32 where T is f32. The first word ends with _, so that it is no macro:
// exp is one for some drivers.
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

#include "outback/dialect/storage.h"
// What needs the storage types.
#include "outback/dialect/atomics.h"
#include "outback/dialect/collectives.h"

#endif
