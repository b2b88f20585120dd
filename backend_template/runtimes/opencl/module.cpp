#include "backend_template/runtimes/opencl/module.hpp"

#include <algorithm>

#include "backend_template/runtimes/opencl/result.hpp"
#include "outback/runtime_error.hpp"

namespace outback::opencl {
namespace {

// So that the driver tells what kinds of parameters a kernel has.
constexpr const char* build_options = "-cl-kernel-arg-info";

cl_program made_of(device& of, outback_format format, const void* bytes, std::size_t size) {
  const driver_api& api = of.of().api();
  if (format == OUTBACK_FORMAT_SPIRV) {
    return make(api.clCreateProgramWithIL, of.context(), bytes, size);
  }
  const char* text = static_cast<const char*>(bytes);
  return make(api.clCreateProgramWithSource, of.context(), 1u, &text,
              static_cast<const std::size_t*>(&size));
}

}  // namespace

module::module(device& of, outback_format format, const void* bytes,
               std::size_t size) :device_(of) {
  const outback_formats& takes = of.facts().formats;
  if (std::count(takes.list, takes.list + takes.count, format) == 0) {
    std::string list;
    for (uint32_t i = 0; i < takes.count; ++i) {
      list += (i == 0 ? "" : ", ") + std::to_string(takes.list[i]);
    }
    throw unsupported("the driver takes modules in the formats " + list + ", not " +
                      std::to_string(format) + " (outback_format in outback/runtime.h)");
  }
  // Before the driver sees the bytes: Intel's crashes on a module that was cut off.
  if (format == OUTBACK_FORMAT_SPIRV) listed_ = spirv_kernels(bytes, size);
  try {
    program_ = made_of(of, format, bytes, size);
    build();
  } catch (...) {
    if (program_ != nullptr) of.of().api().clReleaseProgram(program_);
    throw;
  }
}

module::~module() {
  kernels_.clear();  // before their program
  device_.of().api().clReleaseProgram(program_);
}

void module::build() {
  const driver_api& api = device_.of().api();
  const cl_device_id handle = device_.handle();
  const cl_int result = api.clBuildProgram(program_, 1, &handle, build_options, nullptr, nullptr);
  if (result != CL_SUCCESS) {
    std::string log = text_fact(api.clGetProgramBuildInfo, CL_PROGRAM_BUILD_LOG, program_, handle);
    while (!log.empty() && (log.back() == '\n' || log.back() == ' ')) log.pop_back();
    throw invalid_argument((log.empty() ? "" : log + "\n") + api.clBuildProgram.name + ": " +
                           result_name(result));
  }
  if (fact<std::size_t>(api.clGetProgramInfo, program_, CL_PROGRAM_NUM_KERNELS) == 0) {
    throw invalid_argument("the module has no kernel");
  }
}

kernel& module::find(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (const auto found = kernels_.find(name); found != kernels_.end()) return *found->second;
  const driver_api& api = device_.of().api();
  cl_int result = CL_SUCCESS;
  const cl_kernel made = api.clCreateKernel(program_, name.c_str(), &result);
  if (result == CL_INVALID_KERNEL_NAME) {
    throw invalid_argument("the module has no kernel \"" + name + "\"; it has " +
                           text_fact(api.clGetProgramInfo, CL_PROGRAM_KERNEL_NAMES, program_));
  }
  check(result, api.clCreateKernel.name);
  const auto told = std::find_if(listed_.begin(), listed_.end(),
                                 [&](const spirv_kernel& each) { return each.name == name; });
  auto added = std::make_unique<kernel>(
      device_, made, name,
      told != listed_.end() ? told->parameters : std::vector<spirv_parameter>());
  return *kernels_.emplace(name, std::move(added)).first->second;
}

}  // namespace outback::opencl
