// Devices: how many, which one is the calling thread's, and what each can do.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/DeviceType.h>
#include <c10/macros/Macros.h>

#include <atomic>
#include <cstdint>
#include <string_view>

#include "outback/runtime.h"

namespace outback::core {

inline constexpr c10::DeviceType device_type = c10::DeviceType::PrivateUse1;

/// Most devices that c10 can number; sizes the tables indexed by device.
inline constexpr int max_devices = 128;
/// Most that there may be: their number is a c10::DeviceIndex too.
inline constexpr int most_devices = 127;

namespace detail {
extern constinit std::atomic<int> count_now;  // -1: not asked yet
extern constinit thread_local c10::DeviceIndex current;
c10::DeviceIndex ask_count() noexcept;
/// Asks, and keeps the answer. Throws where there is none, or one that cannot be: what a start
/// says.
int read_count();
[[noreturn]] void refuse_number(int64_t index);
}  // namespace detail

/// How many devices there are; 0 when the runtime cannot say, and with a warning where it says what
/// cannot be. Starts nothing, safe before a fork.
inline c10::DeviceIndex device_count() noexcept {
  const int count = detail::count_now.load(std::memory_order_relaxed);
  return C10_LIKELY(count >= 0) ? static_cast<c10::DeviceIndex>(count) : detail::ask_count();
}

/// Throws c10::AcceleratorError (torch.AcceleratorError, a RuntimeError) naming the range unless
/// 0 <= index < device_count().
inline void check_index(int64_t index) {
  if (C10_UNLIKELY(index < 0 || index >= device_count())) detail::refuse_number(index);
}

/// Throws what `check_index` throws for an index that is `text`.
[[noreturn]] void refuse_index(std::string_view text);

/// The calling thread's device; 0 until it sets one.
inline c10::DeviceIndex current_device() noexcept {
  return detail::current;
}

/// Makes `index` the calling thread's device, after a range check.
void set_device(c10::DeviceIndex index);

/// The same for where nothing may be thrown, such as the end of a context: a driver that refuses is
/// warned of, and the device is this thread's all the same. An index out of range changes nothing.
void set_device_unchecked(c10::DeviceIndex index) noexcept;

/// Sets the device and returns the one before. A negative index changes nothing.
c10::DeviceIndex exchange_device(c10::DeviceIndex index);

/// `index`, or the current device where it is negative. Range-checked.
c10::DeviceIndex resolve_index(c10::DeviceIndex index);

/// What the device says of itself, read and checked once. Starts the backend. Throws where the
/// runtime fails, and for what cannot be.
const outback_device_info& device_info(c10::DeviceIndex index);

/// The CPU may read and write this device's memory in place.
bool is_host_addressable(c10::DeviceIndex index);

/// The device may use memory that the CPU's allocators made.
bool addresses_host(c10::DeviceIndex index);

}  // namespace outback::core
