#include "outback/kernels/module.h"

#include <c10/util/Exception.h>
#include <c10/util/SmallVector.h>

#include <algorithm>

#include "backend_template/kernels/services.h"
#include "outback/kernels/runtime.h"

namespace outback::kernels {
namespace {

const outback_kernels& slots() {
  const outback_kernels* const group = runtime().kernels;
  TORCH_CHECK_NOT_IMPLEMENTED(group != nullptr, services().backend_name(),
                              ": the runtime has no group kernels (outback/runtime.h)");
  return *group;
}

}  // namespace

module::module(c10::Device device, outback_format format, std::string_view bytes) :device_(device) {
  TORCH_CHECK(device.is_privateuseone() && device.has_index(), "Expected a device of ",
              services().backend_name(), " with an index for a module, but found ", device);
  check(slots().module_load(runtime().self, device_.index(), format, bytes.data(), bytes.size(),
                            &handle_),
        "kernels.module_load");
}

module::~module() {
  // There is nobody to report a failure to.
  runtime().kernels->module_unload(runtime().self, device_.index(), handle_);
}

outback_kernel module::kernel(const std::string& name) const {
  outback_kernel found = nullptr;
  check(slots().kernel(runtime().self, device_.index(), handle_, name.c_str(), &found),
        "kernels.kernel");
  return found;
}

void detail::launch(kernel_stream& stream, outback_kernel kernel, const launch_shape& shape,
                    const argument_value* values, uint32_t count) {
  c10::SmallVector<outback_argument, 16> arguments;
  for (uint32_t i = 0; i < count; ++i) {
    arguments.push_back({values[i].bytes.data(), values[i].size, values[i].is_memory});
  }
  outback_launch launch = {};
  launch.struct_size = sizeof(launch);
  launch.arguments = arguments.data();
  launch.argument_count = count;
  std::copy(shape.groups.begin(), shape.groups.end(), launch.groups);
  std::copy(shape.items.begin(), shape.items.end(), launch.items);
  launch.local_size = shape.local_size;
  check(slots().launch(runtime().self, stream.device().index(), kernel, &launch, stream.handle()),
        "kernels.launch");
}

}  // namespace outback::kernels
