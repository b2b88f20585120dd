#include "backend_template/core/devices/device.h"

#include <c10/util/Exception.h>

#include <array>
#include <atomic>
#include <exception>
#include <limits>
#include <memory>
#include <string>

#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/devices/visible_devices.h"
#include "backend_template/core/runtime/format.h"
#include "backend_template/core/runtime/runtime.h"
#include "outback/answer_check.hpp"

namespace outback::core {
namespace {

using detail::current;

std::array<std::atomic<const outback_device_info*>, max_devices> infos{};

// What no runtime answers.
constexpr int32_t unwritten_count = std::numeric_limits<int32_t>::min();

const outback_device_info& read_info(c10::DeviceIndex index) {
  auto info = std::make_unique<outback_device_info>();
  info->struct_size = sizeof(outback_device_info);
  check(runtime().device_info(runtime().self, index, info.get()), "device_info", index);
  blame(device_info_problem(*info), "device_info", index);
  const outback_device_info* kept = nullptr;
  if (infos[index].compare_exchange_strong(kept, info.get(), std::memory_order_acq_rel)) {
    kept = info.release();  // leaked: as long-lived as the device
  }
  return *kept;
}

bool is_count(int64_t index) noexcept {
  return index >= 0 && index < device_count();
}

// Tells the driver, where it has a notion of a current device.
outback_status select(c10::DeviceIndex index) noexcept {
  const outback_device_state* state = runtime().device_state;
  if (state == nullptr || !is_started()) return OUTBACK_OK;
  return state->select(runtime().self, index);
}

}  // namespace

namespace detail {

constinit std::atomic<int> count_now{-1};
constinit thread_local c10::DeviceIndex current = 0;

namespace {

// Answers what is wrong with `count`, or "" and has kept it.
std::string keep_count(int32_t count) {
  constexpr const char* slot = "device_count";
  if (count == unwritten_count) {
    return blame_text("answered ok and wrote nothing to *count", slot, none, none);
  }
  if (count > most_devices) {
    return core::format(
        "{}: {}(): the runtime has {} devices, and PyTorch can number {}: name those to use in {}, "
        "such as 0,1,2,3",
        backend_name(), slot, count, most_devices, visible_devices_variable());
  }
  int before = -1;
  if (count > 0) count_now.compare_exchange_strong(before, count, std::memory_order_relaxed);
  const std::string problem = device_count_problem(count, before);
  return problem.empty() ? problem : blame_text(problem, slot, none, none);
}

}  // namespace

// Neither a failure nor 0 is kept, so that a driver that comes up later is seen.
c10::DeviceIndex ask_count() noexcept {
  try {
    select_visible_devices();
    int32_t count = unwritten_count;
    if (runtime().device_count(runtime().self, &count) != OUTBACK_OK) return 0;
    const std::string problem = keep_count(count);
    if (problem.empty()) return static_cast<c10::DeviceIndex>(count);
    TORCH_WARN_ONCE(problem);
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
  }
  return 0;  // the start says why
}

int read_count() {
  select_visible_devices();
  int32_t count = unwritten_count;
  check(runtime().device_count(runtime().self, &count), "device_count");
  const std::string problem = keep_count(count);
  TORCH_CHECK(problem.empty(), problem);
  return count;
}

void refuse_number(int64_t index) {
  refuse_index(std::to_string(index));
}

}  // namespace detail

// What torch.cuda and torch.xpu raise here, as every other refusal of a device: a RuntimeError.
void refuse_index(std::string_view text) {
  const int count = device_count();
  const std::string why =
      count == 0 ? c10::str(" does not exist: no ", backend_name(), " device is available")
                 : c10::str(" does not exist: expected an index from 0 to ", count - 1,
                            ", this process has ", count, count == 1 ? " device" : " devices");
  throw c10::AcceleratorError({__func__, __FILE__, static_cast<uint32_t>(__LINE__)},
                              OUTBACK_INVALID_ARGUMENT,
                              c10::str(backend_name(), ":", text, why, visible_devices_text()));
}

void set_device(c10::DeviceIndex index) {
  check_index(index);
  if (index == current) return;
  check(select(index), "device_state.select", index);
  current = index;
}

void set_device_unchecked(c10::DeviceIndex index) noexcept {
  if (index == current || !is_count(index)) return;
  // Who restores a device cannot be left on another one: only the driver was not told, and every
  // slot is told its device.
  current = index;
  const outback_status status = select(index);
  if (status != OUTBACK_OK) TORCH_WARN(failure_text(status, "device_state.select", index, none));
}

c10::DeviceIndex exchange_device(c10::DeviceIndex index) {
  const c10::DeviceIndex before = current;
  if (index >= 0 && index != before) set_device(index);
  return before;
}

c10::DeviceIndex resolve_index(c10::DeviceIndex index) {
  if (index < 0) return current;
  check_index(index);
  return index;
}

const outback_device_info& device_info(c10::DeviceIndex index) {
  ensure_started();
  check_index(index);
  const auto* info = infos[index].load(std::memory_order_acquire);
  return C10_LIKELY(info != nullptr) ? *info : read_info(index);
}

bool is_host_addressable(c10::DeviceIndex index) {
  return (device_info(index).flags & OUTBACK_HOST_ADDRESSABLE) != 0;
}

bool addresses_host(c10::DeviceIndex index) {
  return (device_info(index).flags & OUTBACK_ADDRESSES_HOST) != 0;
}

}  // namespace outback::core
