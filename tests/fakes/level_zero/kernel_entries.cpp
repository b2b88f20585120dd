// zeKernel*: making a kernel, and setting what its next launch has.
#include <cstring>
#include <string>

#include "tests/fakes/level_zero/answers.hpp"
#include "tests/fakes/level_zero/entry_points.hpp"
#include "tests/fakes/level_zero/module.hpp"
#include "tests/fakes/level_zero/serve.hpp"
#include "tests/fakes/level_zero/turn.hpp"
#include "tests/fakes/level_zero/violations.hpp"
#include "tests/fakes/level_zero/world.hpp"

namespace outback::software_ze {
namespace kernel_entries {

ze_result_t create(ze_module_handle_t handle, const ze_kernel_desc_t* desc,
                   ze_kernel_handle_t* made) {
  const auto of = the_world().modules.find(handle);
  require_pointer(desc);
  require_pointer(desc->pKernelName);
  require_pointer(made);
  require(of->code.kernels.contains(desc->pKernelName), ZE_RESULT_ERROR_INVALID_KERNEL_NAME);
  *made = the_world().kernels.add(std::make_shared<kernel>(of, desc->pKernelName));
  return ZE_RESULT_SUCCESS;
}

ze_result_t destroy(ze_kernel_handle_t handle) {
  const auto taken = the_world().kernels.take(handle);
  // A lost device dropped what it had.
  if (taken->in_flight.load() != 0 && !taken->of->on->lost()) {
    report_violation("the kernel is destroyed while a launch of it is pending");
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t set_group_size(ze_kernel_handle_t handle, uint32_t x, uint32_t y, uint32_t z) {
  const auto found = the_world().kernels.find(handle);
  const turn mine(found->taken, kernel::noun);
  const std::array<uint32_t, 3> group{x, y, z};
  const uint64_t items = uint64_t{x} * y * z;
  require(items != 0 && items <= max_group_size, ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION);
  const auto& required = found->entry_point.required_group;
  require(required[0] == 0 || required == group, ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION);
  found->group = group;
  return ZE_RESULT_SUCCESS;
}

void require_usable(const void* value) {
  void* pointer = nullptr;
  std::memcpy(&pointer, value, sizeof pointer);
  const world& all = the_world();
  // Memory of the system is out of reach, and drivers know it. Null is said by no value: Intel's
  // driver refuses a value that points to null.
  require(all.device_arena.contains(pointer) || all.host_arena.contains(pointer),
          ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

ze_result_t set_argument(ze_kernel_handle_t handle, uint32_t index, size_t size,
                         const void* value) {
  using kind = spirv_parameter::kind;
  const auto found = the_world().kernels.find(handle);
  const turn mine(found->taken, kernel::noun);
  require(index < found->arguments.size(), ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX);
  const spirv_parameter& parameter = found->entry_point.parameters[index];
  kernel_argument given;
  if (parameter.is == kind::local) {
    require(size > 0 && size <= max_local_memory, ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE);
    if (value) refuse_violation("local memory has a size, and no value");
    given.local_size = size;
  } else {
    require(size > 0 && (parameter.size == 0 || size == parameter.size),
            ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE);
    given.bytes.resize(size);  // zeros, if there is no value
    if (value) std::memcpy(given.bytes.data(), value, size);
    if (value && parameter.is == kind::memory) require_usable(value);
  }
  found->arguments[index] = std::move(given);
  return ZE_RESULT_SUCCESS;
}

ze_result_t set_indirect_access(ze_kernel_handle_t handle,
                                ze_kernel_indirect_access_flags_t flags) {
  const auto found = the_world().kernels.find(handle);
  const turn mine(found->taken, kernel::noun);
  require(flags <= 7, ZE_RESULT_ERROR_INVALID_ENUMERATION);
  found->indirect = flags;
  return ZE_RESULT_SUCCESS;
}

ze_result_t get_indirect_access(ze_kernel_handle_t handle,
                                ze_kernel_indirect_access_flags_t* flags) {
  const auto found = the_world().kernels.find(handle);
  require_pointer(flags);
  *flags = found->indirect;
  return ZE_RESULT_SUCCESS;
}

ze_result_t get_properties(ze_kernel_handle_t handle, ze_kernel_properties_t* properties) {
  const auto found = the_world().kernels.find(handle);
  require_pointer(properties);
  clear(*properties);
  properties->numKernelArgs = static_cast<uint32_t>(found->arguments.size());
  const auto& required = found->entry_point.required_group;
  properties->requiredGroupSizeX = required[0];
  properties->requiredGroupSizeY = required[1];
  properties->requiredGroupSizeZ = required[2];
  properties->maxSubgroupSize = 32;
  properties->maxNumSubgroups = max_group_size / 32;
  return ZE_RESULT_SUCCESS;
}

ze_result_t get_name(ze_kernel_handle_t handle, size_t* size, char* name) {
  const auto found = the_world().kernels.find(handle);
  require_pointer(size);
  const size_t whole = found->name.size() + 1;
  if (name) {
    require(*size >= whole, ZE_RESULT_ERROR_INVALID_SIZE);
    std::memcpy(name, found->name.c_str(), whole);
  }
  *size = whole;
  return ZE_RESULT_SUCCESS;
}

}  // namespace kernel_entries

void serve_kernel(ze_kernel_dditable_t* table) {
  using namespace kernel_entries;
  serve<"zeKernelCreate", create>(table->pfnCreate);
  serve<"zeKernelDestroy", destroy>(table->pfnDestroy);
  serve<"zeKernelSetGroupSize", set_group_size>(table->pfnSetGroupSize);
  serve<"zeKernelSetArgumentValue", set_argument>(table->pfnSetArgumentValue);
  serve<"zeKernelSetIndirectAccess", set_indirect_access>(table->pfnSetIndirectAccess);
  serve<"zeKernelGetIndirectAccess", get_indirect_access>(table->pfnGetIndirectAccess);
  serve<"zeKernelGetProperties", get_properties>(table->pfnGetProperties);
  serve<"zeKernelGetName", get_name>(table->pfnGetName);
  serve_nothing<"zeKernelSetCacheConfig">(table->pfnSetCacheConfig);
  serve_nothing<"zeKernelSuggestGroupSize">(table->pfnSuggestGroupSize);
  serve_nothing<"zeKernelSuggestMaxCooperativeGroupCount">(
      table->pfnSuggestMaxCooperativeGroupCount);
  serve_nothing<"zeKernelGetSourceAttributes">(table->pfnGetSourceAttributes);
}

}  // namespace outback::software_ze
