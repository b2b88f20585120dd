#include "backend_template/runtimes/cuda/nvml.hpp"

#include <dlfcn.h>

#include <optional>
#include <string>

#include "outback/detail/variables.hpp"

namespace outback::cuda {
namespace {

constexpr const char* nvml_name = "libnvidia-ml.so.1";

nvml_library open_nvml() {
  nvml_library library;
  const auto named = outback::detail::library_variable("OUTBACK_NVML");
  const std::string chosen = named.value_or(nvml_name);
  void* handle = dlopen(chosen.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) {
    library.problem = (named ? "OUTBACK_NVML=" + outback::detail::shown(chosen) : "NVML") +
                      " cannot be opened: " + outback::detail::printable(dlerror());
    return library;
  }
  nvml& f = library.functions;
  std::string missing;
  const auto need = [&](auto&... functions) { (look_up(handle, functions, &missing), ...); };
  need(f.error_string, f.init, f.count, f.by_index, f.by_uuid, f.by_pci, f.uuid, f.utilization,
       f.memory, f.temperature, f.power, f.clock, f.processes);
  look_up(handle, f.cuda_version);
  look_up(handle, f.mig_mode);
  if (!missing.empty()) {
    library.problem = chosen + " has no " + missing;
    return library;
  }
  // Initialising NVML does not start CUDA, and is safe before a fork.
  if (const nvml_result result = f.init()) {
    library.problem = std::string("nvmlInit_v2: ") + f.error_string(result);
  }
  return library;
}

}  // namespace

const nvml_library& loaded_nvml() {
  // Leaked on purpose: slots may be called after the destructors of static objects have run.
  static const nvml_library& only = *new nvml_library(open_nvml());
  return only;
}

}  // namespace outback::cuda
