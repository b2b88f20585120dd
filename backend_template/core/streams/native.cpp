#include "backend_template/core/streams/native.h"

#include <c10/util/Exception.h>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/core/streams/twin_stream.h"
#include "backend_template/core/twin/twin.h"

namespace outback::core {
namespace {

const outback_native& native_group() {
  ensure_started();
  if (runtime().native == nullptr) refuse_absent("native", "the driver's own handles");
  return *runtime().native;
}

// Returns the handle that `slot`, whose name is `name`, writes for the device, or for `object`, a
// stream or an event on it. A driver's handle may be any number, null too, so the value that means
// "nothing was written" is an address that belongs to this function.
template <auto slot, class... Object>
void* asked(const char* name, c10::DeviceIndex device, Object... object) {
  static char none_written;
  const outback_native& group = native_group();
  return answer_of<void*>(
      [&](void** handle) { return (group.*slot)(runtime().self, device, object..., handle); },
      "handle", name, device, &none_written);
}

}  // namespace

void* native_device(c10::DeviceIndex device) {
  return asked<&outback_native::device>("native.device", resolve_index(device));
}

void* native_context(c10::DeviceIndex device) {
  return asked<&outback_native::context>("native.context", resolve_index(device));
}

void* native_stream(const c10::Stream& stream) {
  if (const auto theirs = twins_stream(stream)) {
    return guard_of(theirs->device()).getStreamNativeHandle(*theirs);
  }
  return asked<&outback_native::stream>("native.stream", stream.device_index(), handle_of(stream));
}

void* native_event(const event& recorded) {
  if (recorded.twins_event() != nullptr) return recorded.twins_event();
  TORCH_CHECK(recorded.handle() != nullptr, backend_name(),
              ": an event has no native handle before it was recorded");
  return asked<&outback_native::event>("native.event", recorded.device(), recorded.handle());
}

c10::Stream wrap_native_stream(c10::DeviceIndex device, void* handle) {
  const outback_native& native = native_group();
  if (const auto twin = twin_of(resolve_index(device))) {
    TORCH_CHECK_NOT_IMPLEMENTED(twin->type() != c10::DeviceType::XPU, backend_name(),
                                ": a stream of the driver's cannot be wrapped where XPU's kernels "
                                "run: make it torch.xpu's first");
    // CUDA's way to number a stream that others made (getStreamFromExternal).
    return c10::Stream(c10::Stream::UNSAFE, c10::Device(device_type, resolve_index(device)),
                       reinterpret_cast<c10::StreamId>(handle));
  }
  return external_stream(device, handle, [&](outback_stream* made) {
    check(native.wrap_stream(runtime().self, resolve_index(device), handle, made),
          "native.wrap_stream", resolve_index(device));
    check_made(*made, "stream", "native.wrap_stream", resolve_index(device));
  });
}

}  // namespace outback::core
