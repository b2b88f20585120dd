#include "backend_template/core/streams/twin_stream.h"

#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/twin/twin.h"
#include "outback/layers.hpp"

namespace outback::core {
namespace {

// By device and native stream. Never destroyed: the destructors of tensors use streams after
// main().
struct wrapped_streams {
  std::mutex mutex;
  std::map<std::pair<c10::DeviceIndex, void*>, outback_stream> all;
};

wrapped_streams& wrapped() {
  static auto& streams = *new wrapped_streams;
  return streams;
}

// What the thread asked for last: mostly it asks for its current stream again.
struct last_wrapped {
  c10::DeviceIndex device = -1;
  c10::StreamId id = 0;
  outback_stream handle = nullptr;
};
thread_local last_wrapped last;

outback_stream wrap_native(void* native, c10::DeviceIndex device) {
  const outback_native* group = runtime().native;
  if (group == nullptr) refuse_absent("native", "work of the runtime on PyTorch's own streams");
  outback_stream made = nullptr;
  check(group->wrap_stream(runtime().self, device, native, &made), "native.wrap_stream", device);
  check_made(made, "stream", "native.wrap_stream", device);
  return made;
}

}  // namespace

std::optional<c10::Stream> twins_stream(const c10::Stream& stream) {
  const c10::DeviceIndex device = stream.device_index();
  if (stream.device_type() != device_type || device < 0 || device >= device_count()) {
    return std::nullopt;
  }
  const auto twin = started_twin_of(device);
  if (C10_LIKELY(!twin)) return std::nullopt;
  return stream_of(stream, *twin);
}

outback_stream wrap(const c10::Stream& theirs, c10::DeviceIndex device) {
  if (last.device == device && last.id == theirs.id()) return last.handle;
  void* const native = guard_of(theirs.device()).getStreamNativeHandle(theirs);
  auto& [mutex, all] = wrapped();
  std::unique_lock<std::mutex> lock(mutex);
  auto known = all.find({device, native});
  if (known == all.end()) {
    // No lock is held around the driver, so another thread may be quicker.
    lock.unlock();
    const outback_stream made = wrap_native(native, device);
    lock.lock();
    bool is_new = false;
    std::tie(known, is_new) = all.try_emplace({device, native}, made);
    if (is_new) {
      layers::keep_until_exit(made);
    } else {
      warn_of(runtime().streams->destroy(runtime().self, device, made), "streams.destroy", device);
    }
  }
  last = {device, theirs.id(), known->second};
  return last.handle;
}

}  // namespace outback::core
