// torch.<name>.utilization and its kin: what the device measures, in torch.cuda's units. The
// runtime's units are finer; outback/runtime.h names them.
#include "backend_template/core/devices/telemetry.h"

#include <cmath>
#include <string>
#include <vector>

#include "backend_template/core/runtime/format.h"
#include "backend_template/module/device_module.h"
#include "backend_template/python/device_argument.h"

namespace py = pybind11;

namespace outback::python {
namespace {

constexpr int64_t bytes_per_megabyte = int64_t{1} << 20;

// Reads a metric. `unit` says how many of the runtime's units make one of torch.cuda's.
template <outback_metric metric, int64_t unit = 1>
int64_t measure(py::handle device) {
  const c10::DeviceIndex index = device_argument(device);
  start_from_python();
  const py::gil_scoped_release no_gil;
  const int64_t value = core::read_telemetry(index, metric);
  return unit == 1 ? value : std::llround(static_cast<double>(value) / unit);
}

std::string line_of(const outback_process& process) {
  if (process.memory == OUTBACK_UNKNOWN_MEMORY) {
    return core::format("process {:>10} uses an unknown amount of GPU memory", process.pid);
  }
  return core::format("process {:>10} uses {:>12.3f} MB GPU memory", process.pid,
                      static_cast<double>(process.memory) / bytes_per_megabyte);
}

// The text of torch.cuda.list_gpu_processes.
std::string list_gpu_processes(py::handle device) {
  const c10::DeviceIndex index = device_argument(device);
  start_from_python();
  const py::gil_scoped_release no_gil;
  const std::vector<outback_process> processes = core::read_processes(index);
  std::string text = core::format("GPU:{}", static_cast<int>(index));
  if (processes.empty()) text += "\nno processes are running";
  for (const outback_process& process : processes) text += "\n" + line_of(process);
  return text;
}

}  // namespace

void define_telemetry(function_scope& module) {
  const auto device = py::arg("device") = py::none();
  module.def("utilization", &measure<OUTBACK_METRIC_UTILIZATION>, device,
             py::doc("Percent of the last moment in which work ran on the device."));
  module.def(
      "memory_usage", &measure<OUTBACK_METRIC_MEMORY_UTILIZATION>, device,
      py::doc("Percent of the last moment in which the device's memory was read or written."));
  module.def("temperature", &measure<OUTBACK_METRIC_TEMPERATURE, 1000>, device,
             py::doc("The device's temperature in degrees Celsius."));
  module.def("power_draw", &measure<OUTBACK_METRIC_POWER>, device,
             py::doc("The power that the device draws, in milliwatts."));
  module.def("clock_rate", &measure<OUTBACK_METRIC_CLOCK, 1000000>, device,
             py::doc("The device's clock in megahertz."));
  module.def("device_memory_used", &measure<OUTBACK_METRIC_DEVICE_MEMORY_USED>, device,
             py::doc("Bytes of the device's memory that are in use, other processes included."));
  module.def("list_gpu_processes", &list_gpu_processes, device,
             py::doc("The processes that use the device and the memory of each, as text."));
}

}  // namespace outback::python
