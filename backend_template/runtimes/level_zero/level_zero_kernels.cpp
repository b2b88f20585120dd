// The kernel slots of the Level Zero runtime.
#include <memory>
#include <string>
#include <utility>

#include "backend_template/runtimes/level_zero/kernel.hpp"
#include "backend_template/runtimes/level_zero/level_zero_runtime.hpp"
#include "backend_template/runtimes/level_zero/module.hpp"

namespace outback::level_zero {

module& level_zero_runtime::module_of(const device& d, outback_module handle) const {
  auto& given = *reinterpret_cast<module*>(handle);
  check_owner("module", given.device_index(), d.index());
  return given;
}

kernel& level_zero_runtime::kernel_at(const device& d, outback_kernel handle) const {
  auto& given = *reinterpret_cast<kernel*>(handle);
  check_owner("kernel", given.device_index(), d.index());
  return given;
}

outback_formats level_zero_runtime::kernel_formats(int32_t index) {
  at(index);
  outback_formats formats = {};
  formats.count = 1;
  formats.list[0] = OUTBACK_FORMAT_SPIRV;
  return formats;
}

outback_module level_zero_runtime::module_load(int32_t index, outback_format format,
                                               const void* bytes, std::size_t size) {
  return on(index, [&](device& d) {
    if (format != OUTBACK_FORMAT_SPIRV) {
      throw unsupported("Level Zero takes modules in the format OUTBACK_FORMAT_SPIRV, " +
                        std::to_string(OUTBACK_FORMAT_SPIRV) + ", not " + std::to_string(format));
    }
    d.release_done();
    return reinterpret_cast<outback_module>(new module(d, bytes, size));
  });
}

void level_zero_runtime::module_unload(int32_t index, outback_module handle) {
  device& d = listed(index);
  module& given = module_of(d, handle);
  std::unique_ptr<module> unloaded(&given);
  // The driver is not called for a lost device.
  if (d.lost()) return d.keep_for_good(std::move(unloaded));
  blame(d, [&] { d.destroy_when_done(std::move(unloaded)); });
}

outback_kernel level_zero_runtime::kernel_of(int32_t index, outback_module handle,
                                             const char* name) {
  return on(index, [&](device& d) {
    return reinterpret_cast<outback_kernel>(&module_of(d, handle).find(name));
  });
}

outback_kernel_info level_zero_runtime::kernel_info(int32_t index, outback_kernel handle) {
  return on(index, [&](device& d) { return kernel_at(d, handle).info(); });
}

void level_zero_runtime::kernel_launch(int32_t index, outback_kernel handle,
                                       const outback_launch& launch, outback_stream stream) {
  on(index, [&](device& d) { kernel_at(d, handle).launch(queue_of(d, stream), launch); });
}

}  // namespace outback::level_zero
