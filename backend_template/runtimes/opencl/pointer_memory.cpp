#include "backend_template/runtimes/opencl/pointer_memory.hpp"

#include "backend_template/runtimes/opencl/result.hpp"
#include "outback/runtime_error.hpp"

namespace outback::opencl {

bool has_extension(const std::string& list, const std::string& name) {
  return (" " + list + " ").find(" " + name + " ") != std::string::npos;
}

std::optional<pointer_memory> pointer_memory::of(const driver_api& api, cl_platform_id platform,
                                                 cl_device_id device) {
  pointer_memory found(api);
  const std::string extensions = text_fact(api.clGetDeviceInfo, CL_DEVICE_EXTENSIONS, device);
  if (has_extension(extensions, "cl_intel_unified_shared_memory")) {
    const auto look = [&](auto& function) {
      function.set(api.clGetExtensionFunctionAddressForPlatform(platform, function.name));
      return bool(function);
    };
    usm_api& usm = found.usm_;
    if (look(usm.alloc) && look(usm.alloc_host) && look(usm.free) && look(usm.copy) &&
        look(usm.fill) && look(usm.set_argument)) {
      return found;
    }
    usm = {};
  }
  const auto svm = fact_or<cl_device_svm_capabilities>(api.clGetDeviceInfo, device,
                                                       CL_DEVICE_SVM_CAPABILITIES, 0);
  if ((svm & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) == 0) return std::nullopt;
  return found;
}

void* pointer_memory::alloc(cl_context context, cl_device_id device, std::size_t size) const {
  if (is_usm()) {
    return make(usm_.alloc, context, device, static_cast<const cl_mem_properties_intel*>(nullptr),
                size, cl_uint{memory_alignment});
  }
  void* const made = api_->clSVMAlloc(context, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER,
                                      size, memory_alignment);
  if (made != nullptr) return made;
  // The call has no result that says more.
  throw out_of_memory("clSVMAlloc: the driver has no " + std::to_string(size) + " bytes");
}

void* pointer_memory::alloc_host(cl_context context, std::size_t size) const {
  if (!is_usm()) return alloc(context, nullptr, size);
  return make(usm_.alloc_host, context, static_cast<const cl_mem_properties_intel*>(nullptr), size,
              cl_uint{memory_alignment});
}

void pointer_memory::free(cl_context context, void* ptr) const {
  if (is_usm()) return call(usm_.free, context, ptr);
  api_->clSVMFree(context, ptr);
}

void pointer_memory::copy(cl_command_queue queue, void* dst, const void* src, std::size_t size,
                          cl_event* done) const {
  const cl_event* const none = nullptr;
  if (is_usm()) return call(usm_.copy, queue, cl_bool{CL_FALSE}, dst, src, size, 0u, none, done);
  call(api_->clEnqueueSVMMemcpy, queue, cl_bool{CL_FALSE}, dst, src, size, 0u, none, done);
}

void pointer_memory::fill(cl_command_queue queue, void* ptr, const void* pattern,
                          std::size_t pattern_size, std::size_t size, cl_event* done) const {
  const cl_event* const none = nullptr;
  if (is_usm()) return call(usm_.fill, queue, ptr, pattern, pattern_size, size, 0u, none, done);
  call(api_->clEnqueueSVMMemFill, queue, ptr, pattern, pattern_size, size, 0u, none, done);
}

void pointer_memory::allow_indirect(cl_kernel kernel) const {
  // With shared virtual memory each pointer would have to be named.
  if (!is_usm()) return;
  const cl_bool yes = CL_TRUE;
  for (const cl_kernel_exec_info kind : {CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL,
                                         CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL}) {
    // A driver that refuses can follow fewer pointers, and is good for all other kernels.
    api_->clSetKernelExecInfo(kernel, kind, sizeof(yes), &yes);
  }
}

void pointer_memory::set_argument(cl_kernel kernel, cl_uint index, const void* ptr) const {
  if (is_usm()) return call(usm_.set_argument, kernel, index, ptr);
  call(api_->clSetKernelArgSVMPointer, kernel, index, ptr);
}

}  // namespace outback::opencl
