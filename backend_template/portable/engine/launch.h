// Launches a portable kernel for the device's observers.
#pragma once

#include <c10/core/Stream.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

#include "backend_template/core/kernels/kernel_module.h"
#include "outback/kernels/packed.h"
#include "outback/runtime.h"

namespace outback::portable {

/// An address in the device's memory, or null: an argument of a kernel.
struct device_pointer {
  const void* address;
};

namespace detail {

template <class T>
outback_argument argument_of(const T& value) {
  static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>);
  return {&value, sizeof(T), std::is_same_v<T, device_pointer> ? 1u : 0u};
}

}  // namespace detail

/// Enqueues `groups` groups of the kernel, 1 or more, on `stream`. The arguments are
/// device_pointers and numbers or structs of exactly the types that the kernel declares. Does not
/// wait. Throws what core::launch_kernel throws.
template <class... Args>
void launch(const c10::Stream& stream, const kernels::packed_kernel& kernel, int64_t groups,
            const Args&... args) {
  const std::array<outback_argument, sizeof...(Args)> arguments = {detail::argument_of(args)...};
  outback_launch launch = {};
  launch.struct_size = sizeof(launch);
  launch.arguments = arguments.data();
  launch.argument_count = sizeof...(Args);
  launch.groups[0] = static_cast<uint32_t>(groups);
  launch.groups[1] = launch.groups[2] = 1;
  launch.items[0] = kernel.items;
  launch.items[1] = launch.items[2] = 1;
  core::launch_kernel(stream, kernel.handle, launch);
}

/// Returns how many groups a kernel gets whose groups share `count` elements (EACH in the dialect):
/// one item for each element, up to a number that fills any device.
inline int64_t groups_for(int64_t count, const kernels::packed_kernel& kernel) {
  constexpr int64_t most = 1 << 16;
  const int64_t items = kernel.items;
  return std::clamp<int64_t>((count + items - 1) / items, 1, most);
}

}  // namespace outback::portable
