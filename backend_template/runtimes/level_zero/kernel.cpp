#include "backend_template/runtimes/level_zero/kernel.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "backend_template/runtimes/launch_check.hpp"
#include "backend_template/runtimes/level_zero/result.hpp"
#include "outback/runtime_error.hpp"

namespace outback::level_zero {
namespace {

using sort = spirv_parameter::sort;

bool is_null(const void* value) {
  const void* pointer = nullptr;
  std::memcpy(&pointer, value, sizeof(pointer));
  return pointer == nullptr;
}

constexpr std::array dimensions = {" in dimension x", " in dimension y", " in dimension z"};

}  // namespace

kernel::kernel(device& on, ze_module_handle_t of, const spirv_kernel& declared)
    : device_(on), declared_(declared) {
  ze_kernel_desc_t desc = {};
  desc.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC;
  desc.pKernelName = declared.name.c_str();
  call(on.of().api().zeKernelCreate, of, &desc, &handle_);
  try {
    ask_driver();
  } catch (...) {
    on.of().api().zeKernelDestroy(handle_);
    throw;
  }
}

bool kernel::give_back() const noexcept {
  return device_.of().api().zeKernelDestroy(handle_) == ZE_RESULT_SUCCESS;
}

void kernel::ask_driver() {
  const driver_api& api = device_.of().api();
  // Structs among the arguments may have pointers to any memory in them.
  constexpr ze_kernel_indirect_access_flags_t any_memory = ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST |
                                                           ZE_KERNEL_INDIRECT_ACCESS_FLAG_DEVICE |
                                                           ZE_KERNEL_INDIRECT_ACCESS_FLAG_SHARED;
  call(api.zeKernelSetIndirectAccess, handle_, any_memory);
  ze_kernel_properties_t told = {};
  told.stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES;
  call(api.zeKernelGetProperties, handle_, &told);
  info_.argument_count = int32_t(declared_.parameters.size()) - (has_local() ? 1 : 0);
  info_.subgroup_size =
      told.requiredSubgroupSize != 0 ? told.requiredSubgroupSize : told.maxSubgroupSize;
  info_.local_size = told.localMemSize;
  check_declared_local(declared_.name, info_.local_size, device_.facts().most_local);
  info_.private_size = uint64_t(told.privateMemSize) + told.spillMemSize;
  const uint32_t of_device = device_.facts().info.max_group_size;
  const uint64_t of_kernel = uint64_t(told.maxSubgroupSize) * told.maxNumSubgroups;
  info_.max_items = of_kernel != 0 ? uint32_t(std::min<uint64_t>(of_kernel, of_device)) : of_device;
}

void kernel::refuse(const std::string& why) const {
  throw invalid_argument("the kernel " + declared_.name + " " + why);
}

bool kernel::has_local() const noexcept {
  return !declared_.parameters.empty() && declared_.parameters.back().is == sort::local;
}

void kernel::check_arguments(const outback_launch& given) const {
  const auto expected = uint32_t(info_.argument_count);
  if (given.argument_count != expected) {
    refuse("has " + std::to_string(expected) + " arguments, and the launch gives " +
           std::to_string(given.argument_count));
  }
  for (uint32_t i = 0; i < expected; ++i) {
    const auto& [is, size] = declared_.parameters[i];
    if (is == sort::local) {
      refuse("has local memory as parameter " + std::to_string(i) +
             ", which only the last parameter may be");
    }
    if (is == sort::other) {
      refuse("has a parameter, " + std::to_string(i) +
             ", that is neither memory nor a number nor a struct: a launch cannot give it");
    }
    if (size == 0 || given.arguments[i].size == size) continue;
    refuse("has " + std::to_string(size) + " bytes in argument " + std::to_string(i) +
           ", and the launch gives " + std::to_string(given.arguments[i].size));
  }
  if (has_local() && given.local_size == 0) {
    refuse("takes local memory, and the launch gives none");
  }
  if (!has_local() && given.local_size != 0) {
    refuse("has no parameter for local memory, and the launch gives " +
           std::to_string(given.local_size) + " bytes");
  }
}

void kernel::check_most(const char* what, const char* where, uint64_t count, uint64_t most) const {
  if (count <= most) return;
  refuse("runs at most " + std::to_string(most) + " " + what + where +
         ", and the launch asks for " + std::to_string(count));
}

void kernel::check_sizes(const outback_launch& given) const {
  const device_facts& limits = device_.facts();
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    check_most("groups", dimensions[i], given.groups[i], limits.most_groups[i]);
    check_most("items a group", dimensions[i], given.items[i], limits.most_items[i]);
  }
  check_group(declared_.name, given, info_.max_items, limits.most_local - info_.local_size);
}

void kernel::set_argument(uint32_t number, std::size_t size, const void* value) const {
  const bool is_memory = declared_.parameters[number].is == sort::memory;
  // Intel's driver takes no value that points to null, and "no value" for null.
  if (is_memory && is_null(value)) value = nullptr;
  try {
    call(device_.of().api().zeKernelSetArgumentValue, handle_, number, size, value);
  } catch (const device_lost&) {
    throw;
  } catch (const runtime_error& error) {
    throw runtime_error(
        error.status(),
        std::string(error.what()) + " for argument " + std::to_string(number) + " of the kernel " +
            declared_.name +
            (is_memory ? ": expected null, or memory that this device can use" : ""));
  }
}

void kernel::launch(command_queue& q, const outback_launch& given) {
  check_arguments(given);
  check_sizes(given);
  const ze_group_count_t groups = {given.groups[0], given.groups[1], given.groups[2]};
  if (groups.groupCountX == 0 || groups.groupCountY == 0 || groups.groupCountZ == 0) return;
  const driver_api& api = device_.of().api();
  const std::lock_guard lock(mutex_);
  call(api.zeKernelSetGroupSize, handle_, given.items[0], given.items[1], given.items[2]);
  for (uint32_t i = 0; i < given.argument_count; ++i) {
    set_argument(i, given.arguments[i].size, given.arguments[i].value);
  }
  if (has_local()) set_argument(given.argument_count, given.local_size, nullptr);
  q.append(api.zeCommandListAppendLaunchKernel, handle_, &groups);
}

}  // namespace outback::level_zero
