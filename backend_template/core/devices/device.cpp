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

using detail::device_here;

// The checked properties by device; null before the first question.
std::array<std::atomic<const outback_device_info*>, max_devices> infos{};

// `*count` before the slot is called. No runtime may return it.
constexpr int32_t unwritten_count = std::numeric_limits<int32_t>::min();

const outback_device_info& read_info(c10::DeviceIndex index) {
  auto info = std::make_unique<outback_device_info>();
  info->struct_size = sizeof(outback_device_info);
  check(runtime().device_info(runtime().self, index, info.get()), "device_info", index);
  blame(device_info_problem(*info), "device_info", index);
  // Of several threads that read at once, one keeps its copy, and all return that one.
  const outback_device_info* kept = nullptr;
  if (infos[index].compare_exchange_strong(kept, info.get(), std::memory_order_acq_rel)) {
    kept = info.release();  // never freed: `device_info` returns references to it
  }
  return *kept;
}

bool is_count(int64_t index) noexcept {
  return index >= 0 && index < device_count();
}

// True if the device is the calling thread's, and the driver knows: so it is for most of the guards
// that stand around each operator.
bool is_here(c10::DeviceIndex index) noexcept {
  return index >= 0 && device_here.current == index && device_here.told == index;
}

// Tells the driver which device the calling thread uses, if the runtime has a slot for that and the
// driver does not know it already. Before the start it only notes that the driver has to be told,
// since setting a device must not start the driver.
outback_status select(c10::DeviceIndex index) noexcept {
  if (C10_LIKELY(device_here.told == index)) return OUTBACK_OK;
  device_here.is_owed = !is_started();
  if (device_here.is_owed) return OUTBACK_OK;
  const outback_device_state* state = runtime().device_state;
  const outback_status status =
      state == nullptr ? OUTBACK_OK : state->select(runtime().self, index);
  // After a refusal nobody knows where the driver is.
  device_here.told = status == OUTBACK_OK ? index : c10::DeviceIndex{-1};
  return status;
}

}  // namespace

namespace detail {

namespace {

// Keeps `count` if it is above 0, and returns "". Returns what is wrong with it otherwise.
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
  // A 0 is not kept, so that the next call asks again: a driver may come up later.
  int before = -1;
  if (count > 0) count_now.compare_exchange_strong(before, count, std::memory_order_relaxed);
  const std::string problem = device_count_problem(count, before);
  return problem.empty() ? problem : blame_text(problem, slot, none, none);
}

}  // namespace

// torch asks for the number of devices where it cannot handle an exception, so a failure counts as
// no device here. `ensure_started` throws the reason.
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
  return 0;
}

int read_count() {
  select_visible_devices();
  int32_t count = unwritten_count;
  check(runtime().device_count(runtime().self, &count), "device_count");
  const std::string problem = keep_count(count);
  if (!problem.empty()) {
    throw c10::AcceleratorError({__func__, __FILE__, static_cast<uint32_t>(__LINE__)},
                                OUTBACK_INTERNAL, problem);
  }
  return count;
}

void select_owed_device() {
  if (device_here.is_owed)
    check(select(device_here.current), "device_state.select", device_here.current);
}

void refuse_number(int64_t index) {
  refuse_index(std::to_string(index));
}

}  // namespace detail

// torch.cuda and torch.xpu raise a torch.AcceleratorError here too. It is a RuntimeError, as is
// every other refusal of a device.
void refuse_index(std::string_view text) {
  const int count = device_count();
  if (count == 0) detail::read_count();  // throws the runtime's reason, if it has failed
  const std::string why =
      count == 0 ? c10::str(" does not exist: no ", backend_name(), " device is available")
                 : c10::str(" does not exist: expected an index from 0 to ", count - 1,
                            ", this process has ", count, count == 1 ? " device" : " devices");
  throw c10::AcceleratorError({__func__, __FILE__, static_cast<uint32_t>(__LINE__)},
                              OUTBACK_INVALID_ARGUMENT,
                              c10::str(backend_name(), ":", text, why, visible_devices_text()));
}

void set_device(c10::DeviceIndex index) {
  if (C10_LIKELY(is_here(index))) return;
  check_index(index);
  check(select(index), "device_state.select", index);
  device_here.current = index;
}

void set_device_unchecked(c10::DeviceIndex index) noexcept {
  if (C10_LIKELY(is_here(index)) || !is_count(index)) return;
  // The device becomes current even if the driver refuses it: a caller who restores a device must
  // not be left on another one. Nothing of core depends on the driver's idea, since every slot
  // takes its device.
  device_here.current = index;
  warn_of(select(index), "device_state.select", index);
}

c10::DeviceIndex exchange_device(c10::DeviceIndex index) {
  const c10::DeviceIndex before = device_here.current;
  if (index >= 0) set_device(index);
  return before;
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
