// zeModule* and zeModuleBuildLog*.
#include <fmt/format.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tests/fakes/level_zero/entry_points.hpp"
#include "tests/fakes/level_zero/module.hpp"
#include "tests/fakes/level_zero/serve.hpp"
#include "tests/fakes/level_zero/violations.hpp"
#include "tests/fakes/level_zero/world.hpp"

namespace outback::software_ze {
namespace module_entries {

// What a module asks of its device, by the specification's numbers.
struct need {
  uint32_t capability;
  ze_device_module_flags_t flag;
  const char* name;
};
constexpr need needs[] = {{9, ZE_DEVICE_MODULE_FLAG_FP16, "Float16"},
                          {10, ZE_DEVICE_MODULE_FLAG_FP64, "Float64"},
                          {12, ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS, "Int64Atomics"}};

void compile(module& into, const std::string& bytes) {
  into.code = read_spirv(bytes);
  if (into.code.version > newest_spirv) {
    throw std::runtime_error(
        fmt::format("SPIR-V {:#x} is newer than {:#x}, the newest that the device takes",
                    into.code.version, newest_spirv));
  }
  for (const need& each : needs) {
    const bool is_there = (the_options().module_flags & each.flag) != 0;
    if (is_there || !into.code.capabilities.contains(each.capability)) continue;
    throw std::runtime_error(fmt::format("the device has no SPIR-V capability {}", each.name));
  }
  if (const std::string problem = validate_spirv(bytes); !problem.empty()) {
    throw std::runtime_error(problem);
  }
  into.executable =
      the_options().execute == "opencl" ? build_opencl(bytes) : the_world().host_kernels;
}

ze_result_t create(ze_context_handle_t context_handle, ze_device_handle_t device_handle,
                   const ze_module_desc_t* desc, ze_module_handle_t* made,
                   ze_module_build_log_handle_t* log) {
  const auto of = the_world().contexts.find(context_handle);
  const auto on = the_world().devices.find(device_handle);
  require_pointer(desc);
  require_pointer(desc->pInputModule);
  require_pointer(made);
  require(desc->inputSize > 0, ZE_RESULT_ERROR_INVALID_SIZE);
  require(desc->format == ZE_MODULE_FORMAT_IL_SPIRV, ZE_RESULT_ERROR_INVALID_ENUMERATION);
  on->require_present();
  const auto built = std::make_shared<module>(of, on);
  const std::string_view options = desc->pBuildFlags ? desc->pBuildFlags : "";
  built->large_memory = options.find(large_memory_option) != options.npos;
  std::string problem;
  try {
    compile(*built, {reinterpret_cast<const char*>(desc->pInputModule), desc->inputSize});
  } catch (const std::runtime_error& error) {
    problem = error.what();
  }
  // Intel's compiler begins each message with an empty line.
  const std::string said = problem.empty() ? "" : "\n" + problem + "\n";
  if (log) *log = the_world().build_logs.add(std::make_shared<build_log>(build_log{said}));
  require(problem.empty(), ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
  *made = the_world().modules.add(built);
  return ZE_RESULT_SUCCESS;
}

ze_result_t destroy(ze_module_handle_t handle) {
  const auto taken = the_world().modules.take(handle);
  if (const int64_t left = taken->kernels.load()) {
    report_violation(fmt::format("{} of its kernels live", left));
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t get_kernel_names(ze_module_handle_t handle, uint32_t* count, const char** names) {
  const auto found = the_world().modules.find(handle);
  require_pointer(count);
  const auto there = static_cast<uint32_t>(found->code.kernels.size());
  if (*count == 0 || *count > there) *count = there;
  if (!names) return ZE_RESULT_SUCCESS;
  uint32_t written = 0;
  for (const auto& [name, kernel] : found->code.kernels) {
    if (written < *count) names[written++] = name.c_str();
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t destroy_log(ze_module_build_log_handle_t handle) {
  the_world().build_logs.take(handle);
  return ZE_RESULT_SUCCESS;
}

ze_result_t get_string(ze_module_build_log_handle_t handle, size_t* size, char* text) {
  const auto found = the_world().build_logs.find(handle);
  require_pointer(size);
  const size_t whole = found->text.size() + 1;
  if (!text) {
    *size = whole;
    return ZE_RESULT_SUCCESS;
  }
  require(*size >= whole, ZE_RESULT_ERROR_INVALID_SIZE);
  std::memcpy(text, found->text.c_str(), whole);
  *size = whole;
  return ZE_RESULT_SUCCESS;
}

}  // namespace module_entries

void serve_module(ze_module_dditable_t* table) {
  using namespace module_entries;
  serve<"zeModuleCreate", create>(table->pfnCreate);
  serve<"zeModuleDestroy", destroy>(table->pfnDestroy);
  serve<"zeModuleGetKernelNames", get_kernel_names>(table->pfnGetKernelNames);
  serve_nothing<"zeModuleDynamicLink">(table->pfnDynamicLink);
  serve_nothing<"zeModuleGetNativeBinary">(table->pfnGetNativeBinary);
  serve_nothing<"zeModuleGetGlobalPointer">(table->pfnGetGlobalPointer);
  serve_nothing<"zeModuleGetProperties">(table->pfnGetProperties);
  serve_nothing<"zeModuleGetFunctionPointer">(table->pfnGetFunctionPointer);
  serve_nothing<"zeModuleInspectLinkageExt">(table->pfnInspectLinkageExt);
}

void serve_build_log(ze_module_build_log_dditable_t* table) {
  using namespace module_entries;
  serve<"zeModuleBuildLogDestroy", destroy_log>(table->pfnDestroy);
  serve<"zeModuleBuildLogGetString", get_string>(table->pfnGetString);
}

}  // namespace outback::software_ze
