#include "backend_template/core/device.h"

#include <c10/util/Exception.h>

#include <array>
#include <atomic>
#include <exception>
#include <memory>
#include <string>

#include "backend_template/core/lazy_start.h"
#include "backend_template/core/runtime.h"
#include "backend_template/core/visible_devices.h"

namespace outback::core {
namespace {

using detail::current;

std::array<std::atomic<const outback_device_info*>, max_devices> infos{};

const outback_device_info& read_info(c10::DeviceIndex index) {
  auto info = std::make_unique<outback_device_info>();
  info->struct_size = sizeof(outback_device_info);
  check(runtime().device_info(runtime().self, index, info.get()), "device_info", index);
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

// Neither a failure nor 0 is kept, so that a driver that comes up later is seen.
c10::DeviceIndex ask_count() noexcept {
  try {
    select_visible_devices();
  } catch (const std::exception&) {
    return 0;  // the start says why
  }
  int32_t answer = 0;
  if (runtime().device_count(runtime().self, &answer) != OUTBACK_OK || answer < 0) return 0;
  const int count = answer < max_devices ? answer : max_devices - 1;
  count_now.store(count > 0 ? count : -1, std::memory_order_relaxed);
  return static_cast<c10::DeviceIndex>(count);
}

void refuse_number(int64_t index) {
  refuse_index(std::to_string(index));
}

}  // namespace detail

// What torch.cuda and torch.xpu raise here, as every other refusal of a device: a RuntimeError.
void refuse_index(std::string_view text) {
  const int count = device_count();
  const std::string why =
      count == 0 ? c10::str("no ", backend_name(), " device is available")
                 : c10::str("expected an index from 0 to ", count - 1, ", this process has ", count,
                            count == 1 ? " device" : " devices");
  throw c10::AcceleratorError(
      {__func__, __FILE__, static_cast<uint32_t>(__LINE__)}, OUTBACK_INVALID_ARGUMENT,
      c10::str(backend_name(), ":", text, " does not exist: ", why, visible_devices_text()));
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
