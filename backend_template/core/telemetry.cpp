#include "backend_template/core/telemetry.h"

#include "backend_template/core/device.h"
#include "backend_template/core/lazy_start.h"
#include "backend_template/core/runtime.h"

namespace outback::core {

int64_t read_telemetry(c10::DeviceIndex device, outback_metric metric) {
  ensure_started();
  const c10::DeviceIndex index = resolve_index(device);
  if (runtime().telemetry == nullptr) refuse_absent("telemetry", "what the device measures");
  int64_t value = 0;
  check(runtime().telemetry->read(runtime().self, index, metric, &value), "telemetry.read", index);
  return value;
}

}  // namespace outback::core
