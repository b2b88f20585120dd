#include "backend_template/core/kernels/kernel_module.h"

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/streams/observed.h"
#include "outback/answer_check.hpp"

namespace outback::core {
namespace {

// The runtime must have the group: `kernel_formats` comes first.
const outback_kernels& slots() {
  return *runtime().kernels;
}

}  // namespace

outback_formats kernel_formats(c10::DeviceIndex device, const char* caller) {
  ensure_started();
  check_index(device);
  if (runtime().kernels == nullptr) refuse_absent("kernels", caller);
  outback_formats formats = {};
  formats.struct_size = sizeof(formats);
  check(slots().formats(runtime().self, device, &formats), "kernels.formats", device);
  blame(formats_problem(formats), "kernels.formats", device);
  return formats;
}

kernel_module::kernel_module(c10::DeviceIndex device, outback_format format, std::string_view bytes)
    : device_(device) {
  check(slots().module_load(runtime().self, device, format, bytes.data(), bytes.size(), &handle_),
        "kernels.module_load", device);
  check_made(handle_, "module", "kernels.module_load", device);
}

kernel_module::~kernel_module() {
  // There is nobody to report a failure to.
  if (!is_in_bad_fork()) slots().module_unload(runtime().self, device_, handle_);
}

outback_kernel kernel_module::find(const std::string& name) const {
  outback_kernel kernel = nullptr;
  check(slots().kernel(runtime().self, device_, handle_, name.c_str(), &kernel), "kernels.kernel",
        device_);
  check_made(kernel, "kernel", "kernels.kernel", device_);
  return kernel;
}

outback_kernel_info kernel_module::info(outback_kernel kernel) const {
  outback_kernel_info info = {};
  info.struct_size = sizeof(info);
  info.argument_count = -1;
  check(slots().info(runtime().self, device_, kernel, &info), "kernels.info", device_);
  return info;
}

void launch_kernel(const c10::Stream& stream, outback_kernel kernel, const outback_launch& launch) {
  ensure_started();
  observed_work work(work::kernel, stream);
  check(slots().launch(runtime().self, stream.device_index(), kernel, &launch, work.handle()),
        "kernels.launch", stream.device_index());
  work.enqueued();
}

}  // namespace outback::core
