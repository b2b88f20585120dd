#include "backend_template/runtimes/level_zero/module.hpp"

#include <algorithm>

#include "backend_template/runtimes/level_zero/result.hpp"
#include "outback/runtime_error.hpp"

namespace outback::level_zero {
namespace {

// Whether the loader passes the driver's handles on as they are. If not, Debian's loader does not
// wrap the log of a build that failed, and crashes when the log is read.
bool passes_handles_on(const device& on) {
  const auto& translate = on.of().api().zelLoaderTranslateHandle;
  void* translated = nullptr;
  return translate &&
         translate(newer::handle_of_device, on.handle(), &translated) == ZE_RESULT_SUCCESS &&
         translated == on.handle();
}

// Returns what the driver wrote about a build that failed, "" if that is nothing.
std::string text_of(const driver_api& api, ze_module_build_log_handle_t log) {
  std::size_t size = 0;
  std::string text;
  if (api.zeModuleBuildLogGetString(log, &size, nullptr) == ZE_RESULT_SUCCESS && size > 1) {
    text.resize(size);
    if (api.zeModuleBuildLogGetString(log, &size, text.data()) != ZE_RESULT_SUCCESS) text.clear();
  }
  // Without the null character, and without empty lines around it.
  const std::string blank("\0\n ", 3);
  const std::size_t first = text.find_first_not_of(blank);
  return first == std::string::npos ? ""
                                    : text.substr(first, text.find_last_not_of(blank) - first + 1);
}

// Intel's compiler ends the process for a version that it does not know.
void check_version(device& on, uint32_t version) {
  const uint32_t newest = on.facts().newest_spirv;
  if (newest == 0 || version <= newest) return;
  const auto text = [](uint32_t of) {
    return std::to_string(of >> 16) + "." + std::to_string(of >> 8 & 0xff);
  };
  throw invalid_argument("the module is SPIR-V " + text(version) +
                         ", and the device takes SPIR-V up to " + text(newest) +
                         ": compile it for that version");
}

ze_module_handle_t built(device& on, const void* bytes, std::size_t size) {
  const driver_api& api = on.of().api();
  check_version(on, spirv_version(bytes));
  ze_module_desc_t desc = {};
  desc.stype = ZE_STRUCTURE_TYPE_MODULE_DESC;
  desc.format = ZE_MODULE_FORMAT_IL_SPIRV;
  desc.inputSize = size;
  desc.pInputModule = static_cast<const uint8_t*>(bytes);
  // Without the option the code may count the bytes of an allocation with 32 bits.
  if (on.facts().info.max_alloc_size > UINT32_MAX) {
    desc.pBuildFlags = "-ze-opt-greater-than-4GB-buffer-required";
  }
  ze_module_handle_t made = nullptr;
  ze_module_build_log_handle_t log = nullptr;
  const ze_result_t result = api.zeModuleCreate(on.context(), on.handle(), &desc, &made,
                                                passes_handles_on(on) ? &log : nullptr);
  std::string told;
  if (log != nullptr) {
    if (result != ZE_RESULT_SUCCESS) told = text_of(api, log);
    api.zeModuleBuildLogDestroy(log);
  }
  try {
    check(result, "zeModuleCreate");
  } catch (const device_lost&) {
    throw;
  } catch (const runtime_error& error) {
    throw runtime_error(error.status(), told.empty() ? error.what() : told + "\n" + error.what());
  }
  return made;
}

}  // namespace

module::module(device& on, const void* bytes, std::size_t size) :device_(on),
    declared_(spirv_kernels(bytes, size)), handle_(built(on, bytes, size)) {}

module::~module() {
  // There is nobody to report a failure to. A module that still has a kernel must stay.
  bool has_none = true;
  for (const auto& [name, each] : kernels_) has_none &= each->give_back();
  if (has_none) device_.of().api().zeModuleDestroy(handle_);
}

kernel& module::find(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (const auto found = kernels_.find(name); found != kernels_.end()) return *found->second;
  const auto declared = std::find_if(declared_.begin(), declared_.end(),
                                     [&](const spirv_kernel& each) { return each.name == name; });
  if (declared == declared_.end()) {
    throw invalid_argument("the module has no kernel \"" + name + "\"");
  }
  auto made = std::make_unique<kernel>(device_, handle_, *declared);
  return *kernels_.emplace(name, std::move(made)).first->second;
}

}  // namespace outback::level_zero
