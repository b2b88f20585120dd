#include "backend_template/core/twin/twin.h"

#include <ATen/Context.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <array>

#include "backend_template/core/runtime/environment.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/twin/twin_index.h"

namespace outback::core {
namespace {

// The type of the twins that were found: a process has one, since its runtime drives one kind of
// hardware. -1 before one was found.
std::atomic<int> found_type{-1};

// Not atomic, since it is written before the backend can be used.
bool twins_are_allowed = true;

// What a type is called by DLPack (DLDeviceType in dlpack.h), by PyTorch, and in a tensor's keys.
// DLPack reserves 12 for devices that are tried out. It is a type of PyTorch's here whose kernels
// no build of PyTorch has, so that tests can bring their own.
struct kernel_type {
  int32_t dlpack;
  c10::DeviceType type;
  c10::BackendComponent backend;
};
constexpr std::array kernel_types{
    kernel_type{1, c10::DeviceType::CPU, c10::BackendComponent::CPUBit},
    kernel_type{2, c10::DeviceType::CUDA, c10::BackendComponent::CUDABit},
    kernel_type{14, c10::DeviceType::XPU, c10::BackendComponent::XPUBit},
    kernel_type{12, c10::DeviceType::HPU, c10::BackendComponent::HPUBit},
};

// True if this torch has kernels for the type that devices may use. A build for the CPU has neither
// the type's guard nor kernels.
bool has_kernels(const kernel_type& of) {
  if (!allows_twins() || !c10::impl::hasDeviceGuardImpl(of.type)) return false;
  const auto empty = c10::Dispatcher::singleton().findSchema({"aten::empty", "memory_format"});
  const c10::DispatchKey key =
      c10::toRuntimePerBackendFunctionalityKey(c10::DispatchKey::Dense, of.backend);
  return empty && empty->hasKernelForDispatchKey(key);
}

std::optional<c10::Device> find_twin(const kernel_type& of, c10::DeviceIndex index) {
  if (!has_kernels(of)) return std::nullopt;
  const c10::DeviceType type = of.type;
  try {
    at::globalContext().lazyInitDevice(type);
    const auto there = twin_index(type, device_info(index), index);
    if (!there) return std::nullopt;
    found_type.store(static_cast<int>(type), std::memory_order_release);
    return c10::Device(type, *there);
  } catch (const std::exception&) {
    // PyTorch's device does not start, and ours has: a driver too old for this torch, say.
    warn(backend_name(), ": operators run over copies, since PyTorch's own ",
         c10::DeviceTypeName(type), " does not start: ", handled_text());
    return std::nullopt;
  }
}

}  // namespace

namespace detail {

// If two threads look at once, both find the same.
int32_t find_kernel_home(c10::DeviceIndex index) {
  const int32_t dlpack = device_info(index).kernels_of;
  int32_t home = kernel_home::nobodys;
  for (const kernel_type& each : kernel_types) {
    if (each.dlpack != dlpack) continue;
    if (each.type == c10::DeviceType::CPU) {
      home = kernel_home::cpus;
    } else if (const auto twin = find_twin(each, index)) {
      home = static_cast<int32_t>(twin->type()) << 8 | twin->index();
    }
  }
  kernel_homes[index].value.store(home, std::memory_order_release);
  return home;
}

}  // namespace detail

void read_twin_variable() {
  const auto chosen = from_environment(
      [] { return outback::detail::choice_variable("OUTBACK_TWIN", {"auto", "never"}); });
  twins_are_allowed = chosen.value_or(0) == 0;
}

bool allows_twins() noexcept {
  return twins_are_allowed;
}

bool may_have_twins() {
  return std::any_of(kernel_types.begin(), kernel_types.end(), [](const kernel_type& each) {
    return each.type != c10::DeviceType::CPU && has_kernels(each);
  });
}

std::optional<c10::DeviceType> known_twin_type() noexcept {
  const int type = found_type.load(std::memory_order_acquire);
  if (type < 0) return std::nullopt;
  return static_cast<c10::DeviceType>(type);
}

std::optional<c10::Device> device_of_twin(c10::Device twin) {
  for (c10::DeviceIndex index = 0; index < device_count(); ++index) {
    if (twin_of(index) == twin) return c10::Device(device_type, index);
  }
  return std::nullopt;
}

const c10::impl::DeviceGuardImplInterface& guard_of(c10::Device twin) {
  return *c10::impl::getDeviceGuardImpl(twin.type());
}

}  // namespace outback::core
