// Kernels of the OpenCL runtime: their facts, the checks of a launch, and the launch.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>

#include "backend_template/runtimes/kept_name.hpp"
#include "backend_template/runtimes/launch_check.hpp"
#include "backend_template/runtimes/opencl/module.hpp"
#include "backend_template/runtimes/opencl/result.hpp"
#include "outback/runtime_error.hpp"

namespace outback::opencl {
namespace {

using sort = spirv_parameter::sort;

template <class T>
T group_fact(const device& d, cl_kernel kernel, cl_kernel_work_group_info name) {
  T value = {};
  call(d.of().api().clGetKernelWorkGroupInfo, kernel, d.handle(), name, sizeof(value),
       static_cast<void*>(&value), static_cast<std::size_t*>(nullptr));
  return value;
}

struct type_size {
  std::string_view name;
  uint32_t size;
};
// OpenCL C's numbers, and the dialect's names for them: a driver that compiles a typedef may not
// check its size, and then reads beyond a number that is too small.
constexpr type_size known_types[] = {
    {"char", 1}, {"uchar", 1}, {"short", 2},  {"ushort", 2}, {"int", 4}, {"uint", 4}, {"float", 4},
    {"long", 8}, {"ulong", 8}, {"double", 8}, {"i8", 1},     {"u8", 1},  {"i16", 2},  {"u16", 2},
    {"i32", 4},  {"u32", 4},   {"f32", 4},    {"i64", 8},    {"u64", 8}, {"f64", 8},
};

// The size of a parameter that is a number, in bytes; 0 if the driver does not name its type, or
// names another one.
uint32_t told_size(const driver_api& api, cl_kernel kernel, cl_uint number) {
  char name[16] = {};  // a longer name is an error, and none of these
  const cl_int result = api.clGetKernelArgInfo(kernel, number, CL_KERNEL_ARG_TYPE_NAME,
                                               sizeof(name) - 1, name, nullptr);
  if (result != CL_SUCCESS) return 0;
  const auto* const found =
      std::find_if(std::begin(known_types), std::end(known_types),
                   [&](const type_size& known) { return known.name == name; });
  return found == std::end(known_types) ? 0 : found->size;
}

// Asks the driver, which knows it of text that it has compiled. Empty if it does not tell.
std::vector<spirv_parameter> told_parameters(const driver_api& api, cl_kernel kernel,
                                             cl_uint count) {
  std::vector<spirv_parameter> all;
  for (cl_uint i = 0; i < count; ++i) {
    cl_kernel_arg_address_qualifier space = 0;
    const cl_int result = api.clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER,
                                                 sizeof(space), &space, nullptr);
    if (result != CL_SUCCESS) return {};
    const bool is_value = space == CL_KERNEL_ARG_ADDRESS_PRIVATE;
    all.push_back({.is = is_value                               ? sort::value
                         : space == CL_KERNEL_ARG_ADDRESS_LOCAL ? sort::local
                                                                : sort::memory,
                   .size = is_value ? told_size(api, kernel, i) : 0});
  }
  return all;
}

}  // namespace

kernel::kernel(device& of, cl_kernel handle, const std::string& name,
               std::vector<spirv_parameter> parameters)
    : device_(of), handle_(handle), name_(kept_name(name)), parameters_(std::move(parameters)) {
  try {
    const driver_api& api = of.of().api();
    of.pointers().allow_indirect(handle);
    parameter_count_ = fact<cl_uint>(api.clGetKernelInfo, handle, CL_KERNEL_NUM_ARGS);
    if (parameters_.size() != parameter_count_) {
      parameters_ = told_parameters(api, handle, parameter_count_);
    }
    const bool is_known = parameters_.size() == parameter_count_;
    const bool last_is_local = !parameters_.empty() && parameters_.back().is == sort::local;
    // Otherwise nobody knows whether the last one is the launch's to give.
    info_.argument_count = is_known ? int32_t(parameter_count_) - (last_is_local ? 1 : 0) : -1;
    info_.max_items = uint32_t(group_fact<std::size_t>(of, handle, CL_KERNEL_WORK_GROUP_SIZE));
    info_.local_size = group_fact<cl_ulong>(of, handle, CL_KERNEL_LOCAL_MEM_SIZE);
    info_.private_size = group_fact<cl_ulong>(of, handle, CL_KERNEL_PRIVATE_MEM_SIZE);
    check_declared_local(name, info_.local_size, of.facts().local_memory);
    local_limit_ = of.facts().local_memory - info_.local_size;
  } catch (...) {
    of.of().api().clReleaseKernel(handle);
    throw;
  }
}

kernel::~kernel() {
  // Launches that are not done keep what they need.
  device_.of().api().clReleaseKernel(handle_);
}

void kernel::check_arguments(const outback_launch& launch) const {
  const uint64_t given = uint64_t{launch.argument_count} + (launch.local_size != 0 ? 1 : 0);
  if (given != parameter_count_) {
    throw invalid_argument(who() + " has " + std::to_string(parameter_count_) +
                           " parameters, and the launch gives " +
                           std::to_string(launch.argument_count) + " arguments" +
                           (launch.local_size != 0 ? " and local memory" : ""));
  }
  for (uint32_t i = 0; i < parameters_.size(); ++i) check_parameter(i, launch);
}

void kernel::check_parameter(uint32_t number, const outback_launch& launch) const {
  const spirv_parameter& parameter = parameters_[number];
  const auto refuse = [&](const std::string& why) {
    throw invalid_argument("argument " + std::to_string(number) + " of " + who() + why);
  };
  const bool gets_local = number == launch.argument_count;
  if ((parameter.is == sort::local) != gets_local) {
    refuse(gets_local ? " is no pointer to local memory, which local_size is for"
                      : " is a pointer to local memory: expected as the last one, by local_size");
  }
  if (gets_local) return;
  const outback_argument& argument = launch.arguments[number];
  if (parameter.is == sort::other) refuse(" is an image or a sampler, which no launch can give");
  // The driver would take the number for a cl_mem, and crash.
  if (parameter.is == sort::memory && argument.is_memory == 0) {
    refuse(" is a pointer to memory, and the launch gives a number: expected is_memory");
  }
  if (parameter.is == sort::value && argument.is_memory != 0) {
    refuse(" is a number, and the launch gives a pointer to memory: expected is_memory 0");
  }
  if (parameter.is == sort::value && parameter.size != 0 && parameter.size != argument.size) {
    refuse(" has " + std::to_string(parameter.size) + " bytes, and the launch gives " +
           std::to_string(argument.size));
  }
}

void kernel::set_arguments(const outback_launch& launch) {
  for (uint32_t i = 0; i < launch.argument_count; ++i) {
    const outback_argument& each = launch.arguments[i];
    if (each.is_memory != 0) {
      void* ptr = nullptr;
      std::memcpy(&ptr, each.value, sizeof(ptr));
      device_.pointers().set_argument(handle_, i, ptr);
      continue;
    }
    const auto& set = device_.of().api().clSetKernelArg;
    const cl_int result = set(handle_, i, each.size, each.value);
    if (result == CL_INVALID_ARG_SIZE) {
      throw invalid_argument("argument " + std::to_string(i) + " of " + who() + " has not " +
                             std::to_string(each.size) +
                             " bytes, says the driver: " + result_name(result));
    }
    check(result, set.name);
  }
  if (launch.local_size != 0) {
    call(device_.of().api().clSetKernelArg, handle_, launch.argument_count,
         std::size_t{launch.local_size}, static_cast<const void*>(nullptr));
  }
}

void kernel::launch(command_queue& q, const outback_launch& launch) {
  check_group(name_, launch, info_.max_items, local_limit_);
  check_arguments(launch);
  const uint32_t(&groups)[3] = launch.groups;
  if (groups[0] == 0 || groups[1] == 0 || groups[2] == 0) return;
  std::size_t items[3], all[3];
  for (int i = 0; i < 3; ++i) {
    items[i] = launch.items[i];
    all[i] = items[i] * groups[i];
  }
  const std::lock_guard lock(mutex_);
  set_arguments(launch);
  q.enqueue({.kind = OUTBACK_RECORD_KERNEL, .name = name_}, [&](cl_command_queue queue,
                                                                cl_event* done) {
    call(device_.of().api().clEnqueueNDRangeKernel, queue, handle_, 3u,
         static_cast<const std::size_t*>(nullptr), static_cast<const std::size_t*>(all),
         static_cast<const std::size_t*>(items), 0u, static_cast<const cl_event*>(nullptr), done);
  });
}

}  // namespace outback::opencl
