#include "backend_template/runtimes/cuda/nvml.hpp"

#include <dlfcn.h>

#include <cstdlib>

namespace outback::cuda {
namespace {

constexpr const char* nvml_name = "libnvidia-ml.so.1";

nvml_library open_nvml() {
  nvml_library library;
  const char* chosen = std::getenv("OUTBACK_NVML");
  if (chosen == nullptr || *chosen == '\0') chosen = nvml_name;
  void* handle = dlopen(chosen, RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) {
    library.problem = std::string("NVML cannot be opened: ") + dlerror();
    return library;
  }
  const auto find = [&](auto& e) {
    e.function = reinterpret_cast<decltype(e.function)>(dlsym(handle, e.name));
  };
  const auto need = [&](auto&... entries) {
    const auto one = [&](auto& e) {
      find(e);
      if (!e && library.problem.empty())
        library.problem = std::string(chosen) + " has no " + e.name;
    };
    (one(entries), ...);
  };
  nvml& f = library.functions;
  need(f.error_string, f.init, f.count, f.by_index, f.by_uuid, f.by_pci, f.uuid, f.utilization,
       f.memory, f.temperature, f.power, f.clock, f.processes);
  find(f.cuda_version), find(f.mig_mode), find(f.most_mig_devices), find(f.mig_device);
  find(f.gpu_instance), find(f.compute_instance);
  if (!library.problem.empty()) return library;
  if (const nvml_result result = f.init()) {
    library.problem = std::string("nvmlInit_v2: ") + f.error_string(result);
  }
  return library;
}

}  // namespace

const nvml_library& loaded_nvml() {
  // Leaked: slots may be called after the destructors of static objects have run.
  static const nvml_library& only = *new nvml_library(open_nvml());
  return only;
}

}  // namespace outback::cuda
