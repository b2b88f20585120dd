// Tells whose kernels compute in a device's memory, and finds a device's twin.
//
// A runtime says with `kernels_of` (outback_device_info) whose kernels can use its memory in place.
// If the CPU's kernels can, they run directly on the device's tensors. If the kernels of another
// device type of PyTorch can, such as CUDA, and this torch has them, then the device has a *twin*:
// PyTorch's own device for the same hardware, for example cuda:0 for acme:0. Outback uses the
// twin's kernels, streams, events, memory and random numbers, so the two devices share them. All
// calls to a twin go through c10's interfaces, so no library of CUDA is linked.
//
// All functions but read_twin_variable are thread-safe. The functions without `noexcept` start the
// backend, and throw what device_info throws.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/macros/Macros.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/lazy_start.h"

namespace outback::core {

namespace detail {
// The device whose kernels run in place on one device, as its type and index; `nobodys` if there is
// no such device. `unknown` before the first query.
struct kernel_home {
  static constexpr int32_t unknown = -1;
  static constexpr int32_t nobodys = -2;
  static constexpr int32_t cpus = static_cast<int32_t>(c10::DeviceType::CPU) << 8;

  std::atomic<int32_t> value{unknown};
};
inline constinit std::array<kernel_home, max_devices> kernel_homes{};

int32_t find_kernel_home(c10::DeviceIndex index);

inline int32_t kernel_home_of(c10::DeviceIndex index) {
  ensure_started();
  if (C10_UNLIKELY(index < 0)) index = resolve_index(index);
  const int32_t known = kernel_homes[index].value.load(std::memory_order_acquire);
  return C10_LIKELY(known != kernel_home::unknown) ? known : find_kernel_home(index);
}

inline std::optional<c10::Device> twin_in(int32_t home) {
  if (C10_LIKELY(home <= kernel_home::cpus)) return std::nullopt;
  return c10::Device(static_cast<c10::DeviceType>(home >> 8),
                     static_cast<c10::DeviceIndex>(home & 0xff));
}
}  // namespace detail

/// Returns true if the CPU's kernels run on the tensors of the device in place. `index` is valid,
/// or negative for the current device, since a tensor subclass may be on a device without an index.
/// Costs two loads.
inline bool runs_cpu_kernels(c10::DeviceIndex index) {
  return detail::kernel_home_of(index) == detail::kernel_home::cpus;
}

/// Returns the twin of the device, or std::nullopt. `index` is as for `runs_cpu_kernels`. Costs two
/// loads.
inline std::optional<c10::Device> twin_of(c10::DeviceIndex index) {
  return detail::twin_in(detail::kernel_home_of(index));
}

/// Does what `twin_of` does once the backend has started. Before, it returns std::nullopt and
/// starts nothing. In a forked child it returns what the parent knew. For queries of a thread's
/// state, which are allowed at any time.
inline std::optional<c10::Device> started_twin_of(c10::DeviceIndex index) {
  const int32_t known = detail::kernel_homes[index].value.load(std::memory_order_acquire);
  if (C10_UNLIKELY(known == detail::kernel_home::unknown)) {
    return is_started() ? twin_of(index) : std::nullopt;
  }
  return detail::twin_in(known);
}

/// Returns true if the device is known to have no twin. Does not ask the runtime.
inline bool is_known_to_have_no_twin(c10::DeviceIndex index) noexcept {
  const int32_t known = detail::kernel_homes[index].value.load(std::memory_order_acquire);
  return known != detail::kernel_home::unknown && known <= detail::kernel_home::cpus;
}

/// Returns true if the device is known to have a twin. Does not ask the runtime.
inline bool is_known_to_have_twin(c10::DeviceIndex index) noexcept {
  return detail::kernel_homes[index].value.load(std::memory_order_acquire) >
         detail::kernel_home::cpus;
}

/// Reads OUTBACK_TWIN. With "never" no device gets a twin, as if this torch had the kernels of no
/// device type but the CPU: operators run over copies, and memory, streams and generators are the
/// backend's own. Throws c10::ValueError if it is malformed. The registration calls this before it
/// registers anything.
void read_twin_variable();

/// Returns false if OUTBACK_TWIN=never forbids twins.
bool allows_twins() noexcept;

/// Returns true if this torch has the kernels of a device type, other than the CPU, that could be
/// the type of a twin, and OUTBACK_TWIN does not forbid twins. Asks no device.
bool may_have_twins();

/// Returns the device type of the twins, if this process has found a device with a twin already.
/// Does not ask the runtime.
std::optional<c10::DeviceType> known_twin_type() noexcept;

/// Returns the device of this backend whose twin is `twin`, or std::nullopt. Looks at all devices
/// of this backend.
std::optional<c10::Device> device_of_twin(c10::Device twin);

/// Returns the device guard for `twin`'s type, for its streams, events and current device.
const c10::impl::DeviceGuardImplInterface& guard_of(c10::Device twin);

/// Returns `stream` as a stream of `device`. Streams of a device and of its twin have the same ids.
inline c10::Stream stream_of(const c10::Stream& stream, c10::Device device) noexcept {
  return c10::Stream(c10::Stream::UNSAFE, device, stream.id());
}

}  // namespace outback::core
