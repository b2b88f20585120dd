#include "backend_template/core/devices/telemetry.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/runtime/runtime.h"

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
  return answer_of<int64_t>(
      [&](int64_t* value) { return telemetry.read(runtime().self, index, metric, value); }, "value",
      "telemetry.read", index);
}

std::vector<outback_process> read_processes(c10::DeviceIndex device) {
  const outback_telemetry& telemetry = telemetry_group();
  const c10::DeviceIndex index = resolve_index(device);
  outback_processes all = {};
  constexpr uint32_t unwritten = std::numeric_limits<uint32_t>::max();
  all.struct_size = sizeof(all);
  // The list is long, so only the count tells whether the runtime wrote anything.
  all.count = unwritten;
  check(telemetry.processes(runtime().self, index, &all), "telemetry.processes", index);
  check_written(all.count, unwritten, "processes", "telemetry.processes", index);
  // `count` is that of all processes, also if the list has no room for them.
  return {all.list, all.list + std::min<std::size_t>(all.count, std::size(all.list))};
}

}  // namespace outback::core
