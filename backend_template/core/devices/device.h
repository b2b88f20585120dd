// The devices of this process: their number, the calling thread's current device, and the
// properties of each device.
//
// Every slot takes an explicit device, so only this file keeps the current device of each thread.
// Almost every file of the torch half includes this header.
//
// A device index counts from 0 to device_count() - 1, after <NAME>_VISIBLE_DEVICES has selected and
// renumbered the runtime's devices (visible_devices.h). All functions are thread-safe.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/DeviceType.h>
#include <c10/macros/Macros.h>

#include <atomic>
#include <cstdint>
#include <string_view>

#include "outback/runtime.h"

namespace outback::core {

/// The device type that torch reserves for one backend from outside its tree.
inline constexpr c10::DeviceType device_type = c10::DeviceType::PrivateUse1;

/// The number of indices in a c10::DeviceIndex, a signed byte: 0 to 127. Tables that are indexed by
/// device have this size.
inline constexpr int max_devices = 128;
/// The largest number of devices in a process: their number must fit a c10::DeviceIndex too.
inline constexpr int most_devices = 127;

namespace detail {
// The number of devices, or -1 until the runtime has counted at least one.
inline constinit std::atomic<int> count_now{-1};

// The calling thread's device, and the device that the driver has selected for the thread.
struct thread_device {
  c10::DeviceIndex current = 0;
  // The device that the driver selected last for this thread, or -1 if the driver was not asked yet
  // or refused the last request.
  c10::DeviceIndex told = -1;
  // True if the thread set a device before the start, when the driver could not select it yet.
  bool is_owed = false;
};
inline constinit thread_local thread_device device_here;

// The slow path of `device_count`: asks the runtime.
c10::DeviceIndex ask_count() noexcept;

/// Asks the runtime for the number of devices and keeps it if it is above 0. Throws what `check`
/// throws if the slot fails, and c10::AcceleratorError (torch.AcceleratorError) for an impossible
/// number: negative, different from an earlier count, or above most_devices. For lazy_start.cpp.
int read_count();

/// Makes the driver select the device that the calling thread set before the start. Does nothing if
/// the thread set no device. Throws what `set_device` throws; the thread's device stays as it is.
/// For lazy_start.cpp.
void select_owed_device();
[[noreturn]] void refuse_number(int64_t index);
}  // namespace detail

/// Returns the number of devices. Starts a driver only if the runtime cannot count without one, and
/// is safe before a fork.
///
/// Returns 0 if the runtime cannot count; returns 0 with a warning if its number is impossible.
/// Remembers a number above 0. After a 0 the next call asks again, so that it finds a driver that
/// comes up later.
inline c10::DeviceIndex device_count() noexcept {
  const int count = detail::count_now.load(std::memory_order_relaxed);
  return C10_LIKELY(count >= 0) ? static_cast<c10::DeviceIndex>(count) : detail::ask_count();
}

/// Throws c10::AcceleratorError (torch.AcceleratorError, a RuntimeError) with the range of indices
/// unless 0 <= index < device_count().
inline void check_index(int64_t index) {
  if (C10_UNLIKELY(index < 0 || index >= device_count())) detail::refuse_number(index);
}

/// Throws what `check_index` throws for the index that `text` spells, which may be too large for an
/// int64_t.
[[noreturn]] void refuse_index(std::string_view text);

/// Returns the calling thread's device: 0 until the thread sets another one.
inline c10::DeviceIndex current_device() noexcept {
  return detail::device_here.current;
}

/// Makes `index` the calling thread's device, and calls device_state.select if the runtime has that
/// slot, the backend has started, and the driver has not selected this device for this thread
/// already. Throws what `check_index` throws, and what `check` throws if the driver refuses; the
/// thread's device is then unchanged.
///
/// Before the start this function does not call the driver. If the calling thread starts the
/// backend itself, the end of the start selects the thread's device. If another thread starts it,
/// the calling thread's next call of this function or of `exchange_device` selects the device
/// (guards and kernel_stream call `exchange_device`). The same holds for a thread that never set a
/// device, since the driver may put a new thread on any device.
void set_device(c10::DeviceIndex index);

/// Does what `set_device` does, for code that must not throw, such as the end of a context. If the
/// driver refuses to select the device, warns and makes it the thread's device all the same. Does
/// nothing for an index out of range.
void set_device_unchecked(c10::DeviceIndex index) noexcept;

/// Sets the device as `set_device` does, also if it is current already, and returns the previous
/// device. For a negative index, only returns the current device.
c10::DeviceIndex exchange_device(c10::DeviceIndex index);

/// Returns `index`, or the current device for a negative index. Throws what `check_index` throws
/// for an index beyond the last device.
inline c10::DeviceIndex resolve_index(c10::DeviceIndex index) {
  if (index < 0) return current_device();
  check_index(index);
  return index;
}

/// Returns the device's properties, from the slot device_info. The first call asks the runtime,
/// checks the result and keeps it; the reference is valid until the process ends.
///
/// Starts the backend. Throws what `ensure_started`, `check_index` and `check` throw, and what
/// `blame` throws for impossible properties (outback::device_info_problem).
const outback_device_info& device_info(c10::DeviceIndex index);

/// Returns true if the CPU may read and write this device's memory through the same pointers
/// (OUTBACK_HOST_ADDRESSABLE). If false, the CPU cannot address the device's memory. Throws what
/// `device_info` throws.
bool is_host_addressable(c10::DeviceIndex index);

/// Returns true if the device may read and write any host memory, malloc's included
/// (OUTBACK_ADDRESSES_HOST). Throws what `device_info` throws.
bool addresses_host(c10::DeviceIndex index);

}  // namespace outback::core
