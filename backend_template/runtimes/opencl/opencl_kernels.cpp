// The kernel slots of the OpenCL runtime.
#include "backend_template/runtimes/opencl/module.hpp"
#include "backend_template/runtimes/opencl/opencl_runtime.hpp"

namespace outback::opencl {
namespace {

module& own_module(int32_t index, outback_module handle) {
  auto& m = *reinterpret_cast<module*>(handle);
  check_owner("module", m.device_index(), index);
  return m;
}

kernel& own_kernel(int32_t index, outback_kernel handle) {
  auto& k = *reinterpret_cast<kernel*>(handle);
  check_owner("kernel", k.device_index(), index);
  return k;
}

}  // namespace

outback_formats opencl_runtime::kernel_formats(int32_t index) {
  return at(index).facts().formats;
}

outback_module opencl_runtime::module_load(int32_t index, outback_format format, const void* bytes,
                                           std::size_t size) {
  auto* const made = new module(at(index), format, bytes, size);
  await_rest_at_exit();
  return reinterpret_cast<outback_module>(made);
}

void opencl_runtime::module_unload(int32_t index, outback_module handle) {
  at(index);
  delete &own_module(index, handle);
}

outback_kernel opencl_runtime::kernel_of(int32_t index, outback_module handle, const char* name) {
  at(index);
  return reinterpret_cast<outback_kernel>(&own_module(index, handle).find(name));
}

outback_kernel_info opencl_runtime::kernel_info(int32_t index, outback_kernel handle) {
  at(index);
  return own_kernel(index, handle).info();
}

void opencl_runtime::kernel_launch(int32_t index, outback_kernel handle,
                                   const outback_launch& launch, outback_stream where) {
  command_queue& q = queue_of(at(index), where);
  own_kernel(index, handle).launch(q, launch);
}

}  // namespace outback::opencl
