// Faults that kernels find while they run, such as an index that is out of range. The host does not
// wait for such a kernel, so the operator cannot fail. Instead the kernel neither reads nor writes
// at the wrong place, and writes the number of the fault to a word in the device's memory. A later
// wait of the host reads the word and throws: a wait for the kernel's stream, for an event or for
// the device. With OUTBACK_LAUNCH_BLOCKING the operator itself waits, and so fails.
//
// The calls around a launch are
//
//   constinit core::kernel_fault out_of_range("aten::gather: an index is out of range");
//   ...
//   const core::fault_watch watch(stream);
//   launch(stream, gather, groups, ..., device_pointer{watch.word()}, out_of_range.number());
//
// and the kernel has the parameters `GLOBAL i32* fault, i32 number`, and does `*fault = number;`.
//
// A wait reads the word, 4 bytes, only if a watch was made since the stream's last such wait.
// Nothing waits when the process ends: a fault that no wait has found by then is not told.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Stream.h>
#include <c10/macros/Macros.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/streams/stream_pool.h"

namespace outback::core {

/// A kind of fault. Its objects are static, and live until the process ends.
class kernel_fault {
 public:
  /// `what` is a string literal: the operator and what was wrong with its arguments.
  constexpr explicit kernel_fault(const char* what) : what_(what) {}

  /// Returns the number that a kernel writes for this fault, 1 or more. Thread-safe.
  int32_t number() {
    const int32_t known = number_.load(std::memory_order_relaxed);
    return C10_LIKELY(known != 0) ? known : make_number();
  }

 private:
  int32_t make_number();

  const char* what_;
  std::atomic<int32_t> number_{0};
};

/// Lives around the launches of kernels that may write a fault, on one stream.
class fault_watch {
 public:
  /// Starts the backend. The first call for a device allocates its word, and throws what `check`
  /// throws. Not for a device with a twin.
  explicit fault_watch(const c10::Stream& stream);
  /// Makes the stream's next wait read the word. The constructor did so for a wait in the launch;
  /// another thread may have waited before the launch.
  ~fault_watch() { arm(); }
  fault_watch(const fault_watch&) = delete;
  fault_watch& operator=(const fault_watch&) = delete;

  /// Returns the address of the word in the device's memory.
  void* word() const noexcept { return word_; }

 private:
  void arm() const noexcept;

  stream_state& stream_;
  const c10::DeviceIndex device_;
  void* word_;
};

/// Gives the words of all devices back, at the end of the process. No kernel that may write a fault
/// runs any more.
void give_back_fault_words() noexcept;

namespace detail {
struct device_faults {
  std::atomic<bool> armed{false};        // a watch was made since the last wait for the device
  std::atomic<bool> in_captures{false};  // a watch was made in a capture: replays may write faults
};
inline constinit std::array<device_faults, max_devices> faults{};
// Reads the word, and throws if a kernel has written to it.
void throw_kernel_fault(c10::DeviceIndex device);
}  // namespace detail

inline void fault_watch::arm() const noexcept {
  stream_.may_have_faults.store(true, std::memory_order_relaxed);
  detail::faults[static_cast<size_t>(device_)].armed.store(true, std::memory_order_relaxed);
}

/// Does what a watch does, for the launch of a graph: its kernels may be such kernels. Costs one
/// load if no capture has recorded any.
inline void watch_replay(const c10::Stream& stream) {
  detail::device_faults& its = detail::faults[static_cast<size_t>(stream.device_index())];
  if (C10_LIKELY(!its.in_captures.load(std::memory_order_relaxed))) return;
  state_of(stream).may_have_faults.store(true, std::memory_order_relaxed);
  its.armed.store(true, std::memory_order_relaxed);
}

/// A look for faults around a wait for a stream or a device. Of two threads that wait at the same
/// time, both may throw the fault.
class fault_check {
 public:
  /// Before the wait, so that a kernel that another thread launches meanwhile is looked for at the
  /// next one. Costs one load if there was no watch since the last wait.
  explicit fault_check(stream_state& stream) noexcept : fault_check(stream.may_have_faults) {}
  explicit fault_check(c10::DeviceIndex device) noexcept
      : fault_check(detail::faults[static_cast<size_t>(device)].armed) {}
  /// If the wait has failed, leaves the look to the next one.
  ~fault_check() {
    if (C10_UNLIKELY(is_due_)) flag_.store(true, std::memory_order_relaxed);
  }
  fault_check(const fault_check&) = delete;
  fault_check& operator=(const fault_check&) = delete;

  /// After the wait. Throws c10::AcceleratorError with the code OUTBACK_INVALID_ARGUMENT if a
  /// kernel has written a fault, and forgets the fault: the device works as before.
  void after_wait(c10::DeviceIndex device) {
    if (C10_LIKELY(!is_due_)) return;
    is_due_ = false;
    detail::throw_kernel_fault(device);
  }

 private:
  explicit fault_check(std::atomic<bool>& flag) noexcept
      : flag_(flag), is_due_(flag.load(std::memory_order_relaxed)) {
    if (C10_UNLIKELY(is_due_)) flag.store(false, std::memory_order_relaxed);
  }

  std::atomic<bool>& flag_;
  bool is_due_;
};

/// Does the same after a wait for an event of the device. Leaves kernels after the event to later
/// waits, so it looks at each call until the next wait for the device.
inline void check_faults_after_event(c10::DeviceIndex device) {
  const auto& its = detail::faults[static_cast<size_t>(device)];
  if (C10_UNLIKELY(its.armed.load(std::memory_order_relaxed))) detail::throw_kernel_fault(device);
}

}  // namespace outback::core
