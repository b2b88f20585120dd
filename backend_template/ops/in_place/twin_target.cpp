#include "backend_template/ops/in_place/twin_target.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <array>

#include "backend_template/core/interfaces/generator.h"
#include "backend_template/core/memory/twin_memory.h"

namespace outback::ops {
namespace {

// Nothing is waited for, since our current stream is the twin's, where its kernels go.
template <c10::DeviceType device_type>
constexpr kernel_target target_for(c10::BackendComponent backend, c10::DispatchKey autocast) {
  return {.type = device_type,
          .backend = backend,
          .autocast = autocast,
          .allocator = [] { return c10::GetAllocator(device_type); },
          .reaches = [](c10::DeviceIndex index) { return core::twin_of(index).has_value(); },
          .wait = [](c10::DeviceIndex /*index*/) {},
          .adopt = &core::adopt_twin_memory,
          .generator = &core::twin_generator};
}

constexpr std::array targets{
    target_for<c10::DeviceType::CUDA>(c10::BackendComponent::CUDABit,
                                      c10::DispatchKey::AutocastCUDA),
    target_for<c10::DeviceType::XPU>(c10::BackendComponent::XPUBit, c10::DispatchKey::AutocastXPU),
    target_for<c10::DeviceType::HPU>(c10::BackendComponent::HPUBit, c10::DispatchKey::AutocastHPU),
};

}  // namespace

const std::vector<const kernel_target*>& twin_targets() {
  // Leaked: operators may run until the process ends.
  static const auto& present = *[] {
    auto* found = new std::vector<const kernel_target*>;
    for (const kernel_target& each : targets) {
      if (core::allows_twins() && c10::impl::hasDeviceGuardImpl(each.type)) {
        found->push_back(&each);
      }
    }
    return found;
  }();
  return present;
}

const kernel_target& twin_target(c10::DeviceType type) {
  const auto found = std::find_if(targets.begin(), targets.end(),
                                  [type](const kernel_target& each) { return each.type == type; });
  TORCH_INTERNAL_ASSERT(found != targets.end(), type);
  return *found;
}

bool is_for_twins_alone(const c10::OperatorHandle& op, c10::DispatchKey layout) {
  const auto has_kernel = [&](const kernel_target* target) {
    return op.hasKernelForDispatchKey(target->key(layout));
  };
  return !has_kernel(&cpu_target) &&
         std::any_of(twin_targets().begin(), twin_targets().end(), has_kernel);
}

}  // namespace outback::ops
