#include "backend_template/core/streams/native.h"

#include <c10/util/Exception.h>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/streams/stream.h"

namespace outback::core {
namespace {

// Returns the handle that the slot `ask` wrote. A driver's handle may be any number, null too, so
// the value that means "nothing was written" is an address that belongs to this function.
template <class Ask>
void* asked(Ask&& ask, const char* slot, c10::DeviceIndex device) {
  static char none_written;
  void* const unwritten = &none_written;
  void* handle = unwritten;
  check(ask(&handle), slot, device);
  check_written(handle, unwritten, "handle", slot, device);
  return handle;
}

const outback_native& native_group() {
  ensure_started();
  if (runtime().native == nullptr) refuse_absent("native", "the driver's own handles");
  return *runtime().native;
}

}  // namespace

void* native_device(c10::DeviceIndex device) {
  const c10::DeviceIndex index = resolve_index(device);
  const outback_native& group = native_group();
  return asked([&](void** handle) { return group.device(runtime().self, index, handle); },
               "native.device", index);
}

void* native_context(c10::DeviceIndex device) {
  const c10::DeviceIndex index = resolve_index(device);
  const outback_native& group = native_group();
  return asked([&](void** handle) { return group.context(runtime().self, index, handle); },
               "native.context", index);
}

void* native_stream(const c10::Stream& stream) {
  const outback_native& group = native_group();
  const c10::DeviceIndex index = stream.device_index();
  const outback_stream ours = handle_of(stream);
  return asked([&](void** handle) { return group.stream(runtime().self, index, ours, handle); },
               "native.stream", index);
}

void* native_event(const event& recorded) {
  TORCH_CHECK(recorded.handle() != nullptr, backend_name(),
              ": an event has no native handle before it was recorded");
  const outback_native& group = native_group();
  const c10::DeviceIndex index = recorded.device();
  return asked(
      [&](void** handle) { return group.event(runtime().self, index, recorded.handle(), handle); },
      "native.event", index);
}

c10::Stream wrap_native_stream(c10::DeviceIndex device, void* handle) {
  const outback_native& native = native_group();
  return external_stream(device, handle, [&](outback_stream* made) {
    check(native.wrap_stream(runtime().self, resolve_index(device), handle, made),
          "native.wrap_stream", resolve_index(device));
    check_made(*made, "stream", "native.wrap_stream", resolve_index(device));
  });
}

}  // namespace outback::core
