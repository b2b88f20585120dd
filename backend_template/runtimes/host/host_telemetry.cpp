// The telemetry slots of the host runtime: its own threads and budget, and what Linux reports about
// the machine.
#include <unistd.h>

#include "backend_template/runtimes/host/host_runtime.hpp"
#include "backend_template/runtimes/host/machine_sensors.hpp"

namespace outback::host {
namespace {

int64_t or_unsupported(std::optional<int64_t> value, const char* what) {
  if (value) return *value;
  throw unsupported(std::string("this machine does not tell its ") + what);
}

}  // namespace

int64_t host_runtime::telemetry_read(int32_t index, outback_metric metric) {
  device& d = at(index);
  switch (metric) {
    case OUTBACK_METRIC_UTILIZATION:
      return d.busy().percent();
    case OUTBACK_METRIC_MEMORY_USED:
    case OUTBACK_METRIC_DEVICE_MEMORY_USED:  // no other process has this device
      return int64_t(d.memory_used());
    case OUTBACK_METRIC_CLOCK:
      return or_unsupported(clock_rate(), "clock rate");
    case OUTBACK_METRIC_TEMPERATURE:
      return or_unsupported(temperature(), "temperature");
    case OUTBACK_METRIC_MEMORY_UTILIZATION:
      throw unsupported("the host does not measure how busy its memory is");
    case OUTBACK_METRIC_POWER:
      throw unsupported("the host does not measure its power");
    default:
      throw unsupported("there is no metric " + std::to_string(metric));
  }
}

std::vector<outback_process> host_runtime::telemetry_processes(int32_t index) {
  const std::size_t used = at(index).memory_used();
  if (used == 0) return {};
  return {{.pid = getpid(), .memory = used}};
}

}  // namespace outback::host
