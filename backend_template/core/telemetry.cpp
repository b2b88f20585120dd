#include "backend_template/core/telemetry.h"

#include <algorithm>
#include <iterator>

#include "backend_template/core/device.h"
#include "backend_template/core/lazy_start.h"
#include "backend_template/core/runtime.h"

namespace outback::core {
namespace {

const outback_telemetry& telemetry_group() {
  ensure_started();
  if (runtime().telemetry == nullptr) refuse_absent("telemetry", "what the device measures");
  return *runtime().telemetry;
}

}  // namespace

int64_t read_telemetry(c10::DeviceIndex device, outback_metric metric) {
  const outback_telemetry& telemetry = telemetry_group();
  const c10::DeviceIndex index = resolve_index(device);
  int64_t value = 0;
  check(telemetry.read(runtime().self, index, metric, &value), "telemetry.read", index);
  return value;
}

std::vector<outback_process> read_processes(c10::DeviceIndex device) {
  const outback_telemetry& telemetry = telemetry_group();
  const c10::DeviceIndex index = resolve_index(device);
  outback_processes all = {};
  all.struct_size = sizeof(all);
  check(telemetry.processes(runtime().self, index, &all), "telemetry.processes", index);
  return {all.list, all.list + std::min<std::size_t>(all.count, std::size(all.list))};
}

}  // namespace outback::core
