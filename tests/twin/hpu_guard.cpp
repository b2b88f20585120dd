// HPU's streams and events, which are those of the runtime. Ids count the streams from 1 on; the id
// of one that others made is its native handle, as CUDA's is.
#include <c10/util/Exception.h>

#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "backend_template/runtimes/host/host_runtime.hpp"
#include "outback/runtime.hpp"
#include "tests/twin/hpu.h"

namespace outback::test {
namespace {

constexpr int max_streams = 32;
c10::DeviceIndex devices_there = 0;
thread_local c10::DeviceIndex current = 0;
thread_local std::array<c10::StreamId, 2> current_streams{};

struct made_streams {
  std::mutex mutex;
  std::array<std::vector<outback_stream>, 2> all;
};
made_streams& made() {
  static auto& streams = *new made_streams;
  return streams;
}

outback_stream handle_of(const c10::Stream& stream) {
  if (stream.id() == 0) return nullptr;
  const std::lock_guard<std::mutex> lock(made().mutex);
  if (stream.id() <= max_streams) return made().all.at(stream.device_index()).at(stream.id() - 1);
  outback_stream wrapped = nullptr;
  check_hpu(hpu_runtime().native->wrap_stream(hpu_runtime().self, stream.device_index(),
                                              reinterpret_cast<void*>(stream.id()), &wrapped));
  return wrapped;  // leaked
}

bool is_ready(outback_status status) {
  if (status == OUTBACK_NOT_READY) return false;
  check_hpu(status);
  return true;
}

class guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return hpu; }
  c10::Device exchangeDevice(c10::Device device) const override {
    return {hpu, std::exchange(current, device.index())};
  }
  c10::Device getDevice() const override { return {hpu, current}; }
  void setDevice(c10::Device device) const override { current = device.index(); }
  void uncheckedSetDevice(c10::Device device) const noexcept override { current = device.index(); }
  c10::DeviceIndex deviceCount() const noexcept override { return devices_there; }

  c10::Stream getStream(c10::Device device) const override {
    return c10::Stream(c10::Stream::UNSAFE, device, current_streams.at(device.index()));
  }
  c10::Stream getDefaultStream(c10::Device device) const override {
    return c10::Stream(c10::Stream::DEFAULT, device);
  }
  c10::Stream getNewStream(c10::Device device, int priority) const override {
    outback_stream stream = nullptr;
    check_hpu(hpu_runtime().streams->create(hpu_runtime().self, device.index(), priority, &stream));
    const std::lock_guard<std::mutex> lock(made().mutex);
    auto& all = made().all.at(device.index());
    TORCH_CHECK(all.size() < max_streams, "HPU has no more streams");
    all.push_back(stream);
    return c10::Stream(c10::Stream::UNSAFE, device, static_cast<c10::StreamId>(all.size()));
  }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool high_priority) const override {
    return getNewStream(device, high_priority ? -1 : 0);
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    const c10::Device device = stream.device();
    return c10::Stream(c10::Stream::UNSAFE, device,
                       std::exchange(current_streams.at(device.index()), stream.id()));
  }
  void* getStreamNativeHandle(const c10::Stream stream) const override {
    void* native = nullptr;
    check_hpu(hpu_runtime().native->stream(hpu_runtime().self, stream.device_index(),
                                           handle_of(stream), &native));
    return native;
  }
  bool queryStream(const c10::Stream& stream) const override {
    return is_ready(
        hpu_runtime().streams->query(hpu_runtime().self, stream.device_index(), handle_of(stream)));
  }
  void synchronizeStream(const c10::Stream& stream) const override {
    check_hpu(
        hpu_runtime().streams->sync(hpu_runtime().self, stream.device_index(), handle_of(stream)));
  }
  void synchronizeDevice(c10::DeviceIndex device) const override {
    check_hpu(hpu_runtime().device_sync(hpu_runtime().self, device));
  }

  void record(void** event, const c10::Stream& stream, c10::DeviceIndex /*device*/,
              c10::EventFlag flag) const override {
    TORCH_CHECK(flag == c10::EventFlag::PYTORCH_DEFAULT || flag == c10::EventFlag::BACKEND_DEFAULT,
                "HPU event received unknown flag");
    const outback_events& group = *hpu_runtime().events;
    if (*event == nullptr) {
      const uint32_t flags = flag == c10::EventFlag::BACKEND_DEFAULT ? OUTBACK_EVENT_TIMING : 0;
      outback_event created = nullptr;
      check_hpu(group.create(hpu_runtime().self, stream.device_index(), flags, &created));
      *event = created;
    }
    check_hpu(group.record(hpu_runtime().self, stream.device_index(),
                           static_cast<outback_event>(*event), handle_of(stream)));
  }
  void block(void* event, const c10::Stream& stream) const override {
    check_hpu(hpu_runtime().events->wait(hpu_runtime().self, stream.device_index(),
                                         static_cast<outback_event>(event), handle_of(stream)));
  }
  bool queryEvent(void* event) const override {
    return is_ready(
        hpu_runtime().events->query(hpu_runtime().self, 0, static_cast<outback_event>(event)));
  }
  void synchronizeEvent(void* event) const override {
    check_hpu(hpu_runtime().events->sync(hpu_runtime().self, 0, static_cast<outback_event>(event)));
  }
  double elapsedTime(void* from, void* to, c10::DeviceIndex /*device*/) const override {
    int64_t nanoseconds = 0;
    check_hpu(hpu_runtime().events->elapsed(hpu_runtime().self, static_cast<outback_event>(from),
                                            static_cast<outback_event>(to), &nanoseconds));
    return static_cast<double>(nanoseconds) / 1e6;
  }
  void destroyEvent(void* event, c10::DeviceIndex device) const noexcept override {
    hpu_runtime().events->destroy(hpu_runtime().self, device, static_cast<outback_event>(event));
  }
  void recordDataPtrOnStream(const c10::DataPtr& memory, const c10::Stream& stream) const override {
    hpu_allocator().recordStream(memory, stream);
  }
};

}  // namespace

const outback_runtime& hpu_runtime() {
  static const outback_runtime& table = [&]() -> const outback_runtime& {
    auto& devices =
        *new host::host_runtime(host::host_options{.devices = 2, .memory_size = size_t{64} << 20});
    static outback_runtime changed = *table_of(devices);
    static const auto of_host = changed.device_info;
    changed.device_info = [](void* self, int32_t index, outback_device_info* info) {
      const outback_status status = of_host(self, index, info);
      info->kernels_of = 12;  // as DLPack calls what is tried out
      return status;
    };
    return changed;
  }();
  return table;
}

const c10::impl::DeviceGuardImplInterface& hpu_guard() {
  static const auto& implementation = *new guard;
  return implementation;
}

void set_hpu_count(c10::DeviceIndex devices) {
  devices_there = devices;
}

void check_hpu(outback_status status) {
  TORCH_CHECK(status == OUTBACK_OK, "HPU: ", hpu_runtime().last_error(hpu_runtime().self));
}

}  // namespace outback::test
