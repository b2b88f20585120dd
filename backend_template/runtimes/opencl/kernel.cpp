// Kernels of the OpenCL runtime: their facts, the checks of a launch, and the launch.
#include <cstring>

#include "backend_template/runtimes/kept_name.hpp"
#include "backend_template/runtimes/opencl/module.hpp"
#include "backend_template/runtimes/opencl/result.hpp"
#include "outback/runtime_error.hpp"

namespace outback::opencl {
namespace {

template <class T>
T group_fact(const device& d, cl_kernel kernel, cl_kernel_work_group_info name) {
  T value = {};
  call(d.of().api().clGetKernelWorkGroupInfo, kernel, d.handle(), name, sizeof(value),
       static_cast<void*>(&value), static_cast<std::size_t*>(nullptr));
  return value;
}

}  // namespace

kernel::kernel(device& of, cl_kernel handle, const std::string& name)
    : device_(of), handle_(handle), name_(kept_name(name)) {
  try {
    const driver_api& api = of.of().api();
    of.pointers().allow_indirect(handle);
    parameters_ = fact<cl_uint>(api.clGetKernelInfo, handle, CL_KERNEL_NUM_ARGS);
    for (cl_uint i = 0; i < parameters_; ++i) {
      cl_kernel_arg_address_qualifier space = 0;
      const cl_int result = api.clGetKernelArgInfo(handle, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER,
                                                   sizeof(space), &space, nullptr);
      address_spaces_.push_back(result == CL_SUCCESS ? space : 0);
    }
    const bool last_is_local =
        parameters_ != 0 && address_space(parameters_ - 1) == CL_KERNEL_ARG_ADDRESS_LOCAL;
    info_.argument_count = int32_t(parameters_) - (last_is_local ? 1 : 0);
    // Without the kinds of parameters nobody knows whether the last one is a launch's to give.
    if (parameters_ != 0 && address_space(parameters_ - 1) == 0) info_.argument_count = -1;
    info_.max_items = uint32_t(group_fact<std::size_t>(of, handle, CL_KERNEL_WORK_GROUP_SIZE));
    info_.local_size = group_fact<cl_ulong>(of, handle, CL_KERNEL_LOCAL_MEM_SIZE);
    info_.private_size = group_fact<cl_ulong>(of, handle, CL_KERNEL_PRIVATE_MEM_SIZE);
    const uint64_t all = of.facts().local_memory;
    local_limit_ = all > info_.local_size ? all - info_.local_size : 0;
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
  const uint32_t needed = parameters_ - (launch.local_size != 0 ? 1 : 0);
  if (launch.local_size != 0 && parameters_ == 0) {
    throw invalid_argument(who() +
                           " has no parameters, and with local_size the last one has to be "
                           "a pointer to local memory");
  }
  if (launch.argument_count != needed) {
    throw invalid_argument(who() + " has " + std::to_string(parameters_) + " parameters" +
                           (launch.local_size != 0 ? ", the last one for local memory" : "") +
                           ", and the launch gives " + std::to_string(launch.argument_count) +
                           " arguments");
  }
  for (cl_uint i = 0; i < parameters_; ++i) {
    const cl_uint space = address_space(i);
    if (space == 0) continue;
    const bool is_local = space == CL_KERNEL_ARG_ADDRESS_LOCAL;
    if (is_local != (i == needed)) {
      throw invalid_argument("parameter " + std::to_string(i) + " of " + who() +
                             (is_local
                                  ? " is a pointer to local memory: expected as the last "
                                    "parameter, with local_size"
                                  : " is no pointer to local memory, which local_size is for"));
    }
    // The driver would take the number for a cl_mem, and crash.
    const bool is_pointer = space != CL_KERNEL_ARG_ADDRESS_PRIVATE;
    if (!is_local && is_pointer != (launch.arguments[i].is_memory != 0)) {
      throw invalid_argument("argument " + std::to_string(i) + " of " + who() +
                             (is_pointer ? " is a pointer to memory: expected is_memory"
                                         : " is no pointer: expected is_memory 0"));
    }
  }
}

void kernel::check_group(const outback_launch& launch) const {
  const uint64_t items = uint64_t(launch.items[0]) * launch.items[1] * launch.items[2];
  if (items > info_.max_items) {
    throw invalid_argument(who() + " runs at most " + std::to_string(info_.max_items) +
                           " items a group, and the launch asks for " + std::to_string(items));
  }
  if (launch.local_size > local_limit_) {
    throw invalid_argument("a group of " + who() + " gets at most " + std::to_string(local_limit_) +
                           " bytes of local memory, and the launch asks for " +
                           std::to_string(launch.local_size));
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
  check_group(launch);
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
