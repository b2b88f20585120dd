#include "backend_template/runtimes/cuda/machine.hpp"

#include "backend_template/runtimes/cuda/errors.hpp"
#include "backend_template/runtimes/cuda/visible_devices.hpp"
#include "backend_template/runtimes/fork_count.hpp"
#include "outback/detail/variables.hpp"

namespace outback::cuda {
namespace {

bool means_no_device(cudaError_t error) {
  return error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver ||
         error == cudaErrorStubLibrary;
}

// NVML counts devices also where libcudart is too new for the driver to work with it.
bool driver_serves(const cudart& cuda, const nvml& nvml) {
  int runtime = 0, driver = 0;
  if (cuda.cudaRuntimeGetVersion(&runtime) != cudaSuccess) return false;
  if (!nvml.cuda_version || nvml.cuda_version(&driver) != nvml_success) return true;
  return driver / 1000 >= runtime / 1000;
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
  const cudaError_t error = cuda.cudaGetDeviceCount(&count);
  if (means_no_device(error)) {
    cuda.cudaGetLastError();
    started->absence = describe(cuda, error, cuda.cudaGetDeviceCount.name);
    return started;
  }
  check(cuda, error, cuda.cudaGetDeviceCount.name,
        started->forks == 0 ? ""
                            : ". This process was forked: where CUDA was in use before, its child "
                              "has to be started without fork (\"spawn\")");
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
  const auto gpus = gpus_of_machine(library.functions);
  if (!gpus) return -1;
  const auto list = outback::detail::variable_of_driver("CUDA_VISIBLE_DEVICES");
  const auto visible = visible_devices(list ? list->c_str() : nullptr, *gpus);
  return visible ? int32_t(visible->size()) : -1;
}

}  // namespace outback::cuda
