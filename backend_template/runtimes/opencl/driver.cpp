#include "backend_template/runtimes/opencl/driver.hpp"

#include "backend_template/runtimes/opencl/result.hpp"

namespace outback::opencl {

std::vector<cl_device_id> driver::list(cl_device_type types) const {
  cl_uint count = 0;
  const cl_int result = api_.clGetDeviceIDs(handle_, types, 0, nullptr, &count);
  if (result == CL_DEVICE_NOT_FOUND || (result == CL_SUCCESS && count == 0)) return {};
  check(result, api_.clGetDeviceIDs.name);
  std::vector<cl_device_id> all(count);
  call(api_.clGetDeviceIDs, handle_, types, count, all.data(), static_cast<cl_uint*>(nullptr));
  return all;
}

cl_context driver::context() {
  if (const auto there = context_.load(std::memory_order_acquire)) return there;
  const std::lock_guard lock(mutex_);
  if (const auto there = context_.load(std::memory_order_relaxed)) return there;
  const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                              reinterpret_cast<cl_context_properties>(handle_), 0};
  cl_int result = CL_SUCCESS;
  const cl_context made = api_.clCreateContext(properties, cl_uint(used_.size()), used_.data(),
                                               nullptr, nullptr, &result);
  check(result, api_.clCreateContext.name);
  context_.store(made, std::memory_order_release);
  return made;
}

}  // namespace outback::opencl
