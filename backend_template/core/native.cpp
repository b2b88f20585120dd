#include "backend_template/core/native.h"

#include <c10/util/Exception.h>

#include "backend_template/core/device.h"
#include "backend_template/core/lazy_start.h"
#include "backend_template/core/runtime.h"
#include "backend_template/core/stream.h"

namespace outback::core {
namespace {

const outback_native& native_group() {
  ensure_started();
  if (runtime().native == nullptr) refuse_absent("native", "the driver's own handles");
  return *runtime().native;
}

}  // namespace

void* native_device(c10::DeviceIndex device) {
  const c10::DeviceIndex index = resolve_index(device);
  void* handle = nullptr;
  check(native_group().device(runtime().self, index, &handle), "native.device", index);
  return handle;
}

void* native_context(c10::DeviceIndex device) {
  const c10::DeviceIndex index = resolve_index(device);
  void* handle = nullptr;
  check(native_group().context(runtime().self, index, &handle), "native.context", index);
  return handle;
}

void* native_stream(const c10::Stream& stream) {
  void* handle = nullptr;
  check(native_group().stream(runtime().self, stream.device_index(), handle_of(stream), &handle),
        "native.stream", stream.device_index());
  return handle;
}

void* native_event(const event& recorded) {
  TORCH_CHECK(recorded.handle() != nullptr, backend_name(),
              ": an event has no native handle before it was recorded");
  void* handle = nullptr;
  check(native_group().event(runtime().self, recorded.device(), recorded.handle(), &handle),
        "native.event", recorded.device());
  return handle;
}

c10::Stream wrap_native_stream(c10::DeviceIndex device, void* handle) {
  const outback_native& native = native_group();
  return external_stream(device, handle, [&](outback_stream* made) {
    check(native.wrap_stream(runtime().self, resolve_index(device), handle, made),
          "native.wrap_stream", resolve_index(device));
  });
}

}  // namespace outback::core
