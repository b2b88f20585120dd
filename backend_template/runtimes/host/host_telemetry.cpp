// The telemetry slots of the host runtime: its own threads and budget.
#include <unistd.h>

#include "backend_template/runtimes/host/host_runtime.hpp"

namespace outback::host {

int64_t host_runtime::telemetry_read(int32_t index, outback_metric metric) {
  device& d = at(index);
  switch (metric) {
    case OUTBACK_METRIC_UTILIZATION:
      return d.busy().percent();
    case OUTBACK_METRIC_MEMORY_USED:
    case OUTBACK_METRIC_DEVICE_MEMORY_USED:  // no other process has this device
      return int64_t(d.memory_used());
    default:
      throw unsupported("the host does not measure metric " + std::to_string(metric));
  }
}

std::vector<outback_process> host_runtime::telemetry_processes(int32_t index) {
  const std::size_t used = at(index).memory_used();
  if (used == 0) return {};
  return {{.pid = getpid(), .memory = used}};
}

}  // namespace outback::host
