#include "backend_template/runtimes/cuda/machine.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "backend_template/runtimes/cuda/errors.hpp"
#include "backend_template/runtimes/cuda/library.hpp"
#include "backend_template/runtimes/cuda/nvml.hpp"
#include "backend_template/runtimes/fork_count.hpp"
#include "outback/detail/device_list.hpp"
#include "outback/detail/variables.hpp"

namespace outback::cuda {
namespace {

// Whether the error is a final answer, "there are no devices". Every other error may pass, when a
// daemon has started for example.
bool means_no_device(cudaError_t error) {
  return error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver ||
         error == cudaErrorStubLibrary;
}

// Explains cudaErrorInsufficientDriver, which CUDA returns if there is no driver and if it is too
// old for this libcudart.
std::string driver_that_is_short(const cudart& cuda) {
  int driver = 0, runtime = 0;
  cuda.cudaDriverGetVersion(&driver);
  cuda.cudaRuntimeGetVersion(&runtime);
  if (driver == 0) return ". There is no NVIDIA driver, or none that this process may use";
  return ". The driver serves CUDA " + version_text(driver) + " and this libcudart is of CUDA " +
         version_text(runtime) +
         ": install a newer driver, or name an older libcudart with OUTBACK_CUDART=<path>";
}

// Returns what to do if CUDA does not start, for errors that mean something else when they come
// from another call. `describe` deals with those that always mean the same.
std::string advice_at_start(const cudart& cuda, cudaError_t error, bool forked) {
  switch (error) {
    case cudaErrorInitializationError:
      if (forked) {
        return ". This process was forked: where CUDA was in use before, its child has to be "
               "started without fork (\"spawn\")";
      }
      return ". The driver does not start: `nvidia-smi` tells whether this machine, or this "
             "container, has one that works";
    case cudaErrorInsufficientDriver:
      return driver_that_is_short(cuda);
    case cudaErrorNoDevice:
      return ". `nvidia-smi -L` lists the machine's devices; CUDA_VISIBLE_DEVICES, and a container "
             "that was not given them, hide them";
    case cudaErrorInvalidDevice:
      return ". A device is gone, or CUDA_VISIBLE_DEVICES names a MIG instance that is: "
             "`nvidia-smi -L` lists what is there, the kernel's log says what happened";
    default:
      return "";
  }
}

// Whether this driver works with this libcudart. NVML counts devices also if libcudart is too new
// for the driver, and CUDA would then find none.
bool driver_serves(const cudart& cuda, const nvml& nvml) {
  int runtime = 0, driver = 0;
  if (cuda.cudaRuntimeGetVersion(&runtime) != cudaSuccess) return false;
  if (!nvml.cuda_version || nvml.cuda_version(&driver) != nvml_success) return true;
  // Within one major version CUDA's libraries work with older drivers too.
  return driver / 1000 >= runtime / 1000;
}

// Lists all devices in NVML's order. Returns nullopt if NVML fails.
std::optional<std::vector<nvmlDevice_t>> gpus_of(const nvml& nvml) {
  unsigned count = 0;
  if (nvml.count(&count) != nvml_success) return std::nullopt;
  std::vector<nvmlDevice_t> all(count);
  for (unsigned i = 0; i < count; ++i) {
    if (nvml.by_index(i, &all[i]) != nvml_success) return std::nullopt;
  }
  return all;
}

// Whether the device is in MIG mode, in which CUDA sees its instances only. NVML also tells the
// mode after the next reboot, which does not count yet.
bool is_divided(const nvml& nvml, nvmlDevice_t gpu) {
  unsigned now = 0, after_reboot = 0;
  return nvml.mig_mode && nvml.mig_mode(gpu, &now, &after_reboot) == nvml_success && now == 1;
}

}  // namespace

std::unique_ptr<machine> start_cuda() {
  const library& found = loaded_library();
  auto started = std::make_unique<machine>(machine{.cuda = found.functions});
  started->forks = fork_count();
  started->absence = found.problem;
  if (!found.problem.empty()) return started;

  const cudart& cuda = started->cuda;
  int count = 0;
  // The first call that starts the driver. It makes no context.
  const cudaError_t error = cuda.cudaGetDeviceCount(&count);
  if (error != cudaSuccess) {
    const std::string why = describe(cuda, error, cuda.cudaGetDeviceCount.name) +
                            advice_at_start(cuda, error, started->forks != 0);
    cuda.cudaGetLastError();  // or another user of CUDA would get this error
    if (!means_no_device(error)) throw runtime_error(status_of(error), why);
    started->absence = why;
    return started;
  }
  if (count == 0) {
    started->absence = "CUDA finds no device";
    return started;
  }
  started->driver = find_driver(cuda);
  for (int32_t i = 0; i < count; ++i) {
    started->devices.push_back(std::make_unique<device>(cuda, started->driver, i));
  }
  return started;
}

int32_t count_without_cuda() {
  const library& found = loaded_library();
  if (!found.problem.empty()) return 0;
  const nvml_library& library = loaded_nvml();
  if (!library.problem.empty() || !driver_serves(found.functions, library.functions)) return -1;
  const nvml& nvml = library.functions;
  // Read as the driver reads it, also in a setuid program: otherwise the two would count
  // differently.
  const auto list = outback::detail::variable_of_driver("CUDA_VISIBLE_DEVICES");
  const std::string first(list ? outback::detail::device_list_entries(*list).front() : "");
  if (first.starts_with("MIG-")) {
    // Of MIG instances a process sees one, the first of the list. It has older names, too, which
    // NVML does not know.
    nvmlDevice_t instance = nullptr;
    return nvml.by_uuid(first.c_str(), &instance) == nvml_success ? 1 : -1;
  }
  const auto gpus = gpus_of(nvml);
  bool is_known = gpus.has_value();
  if (!is_known) return -1;
  const auto uuids = [&] {
    std::vector<std::string> all;
    for (const nvmlDevice_t gpu : *gpus) {
      char text[nvml_uuid_size] = {};
      is_known = nvml.uuid(gpu, text, sizeof(text)) == nvml_success && is_known;
      all.emplace_back(text);
    }
    return all;
  };
  std::vector<int32_t> visible(gpus->size());
  std::iota(visible.begin(), visible.end(), 0);
  if (list) visible = outback::detail::listed_devices(*list, int32_t(gpus->size()), uuids);
  // Only CUDA can tell which instance the process gets of a divided device.
  const bool has_divided = std::any_of(visible.begin(), visible.end(), [&](int32_t index) {
    return is_divided(nvml, (*gpus)[std::size_t(index)]);
  });
  return is_known && !has_divided ? int32_t(visible.size()) : -1;
}

}  // namespace outback::cuda
