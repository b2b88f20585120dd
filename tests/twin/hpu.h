// A device type that stands in for CUDA's where no build of torch has kernels: c10's HPU. It is the
// twin of the devices of a host runtime that says so: both use the same streams, events and memory
// of that runtime, as PyTorch's CUDA and a runtime over CUDA do.
//
// Its kernels are the test's business: HPU counts as a twin once it has one for aten::empty.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <string>
#include <utility>
#include <vector>

#include "outback/runtime.h"

namespace at {
struct HostAllocator;
}  // namespace at

namespace outback::test {

inline constexpr c10::DeviceType hpu = c10::DeviceType::HPU;

/// Returns the table of a host runtime with two devices of 64 MiB whose kernels are HPU's.
const outback_runtime& hpu_runtime();

/// Registers guard, allocators and hooks of HPU with torch. It has `devices` devices, the first
/// ones of `hpu_runtime`. Once a process, before the backend starts.
void register_hpu(c10::DeviceIndex devices);

/// While it is not empty, HPU does not start, and says this.
std::string& hpu_start_problem();

/// The allocator of HPU's memory. Without a cache: it allocates from `hpu_runtime`.
c10::DeviceAllocator& hpu_allocator();
/// What `recordStream` of that allocator, and `record_event` of the pinned one, were told.
std::vector<std::pair<const void*, c10::Stream>>& hpu_recorded();
/// How often the allocator gave memory back, and how often its cache was emptied.
struct hpu_counts {
  int freed = 0;
  int emptied = 0;
};
hpu_counts& hpu_counted();

at::HostAllocator& hpu_host_allocator();
const c10::impl::DeviceGuardImplInterface& hpu_guard();

/// Throws if a slot of `hpu_runtime` failed.
void check_hpu(outback_status status);

}  // namespace outback::test
