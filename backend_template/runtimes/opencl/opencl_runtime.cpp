#include "backend_template/runtimes/opencl/opencl_runtime.hpp"

namespace outback::opencl {

static_assert(device_runtime<opencl_runtime>);

platform& opencl_runtime::there() {
  if (platform* const made = platform_.load(std::memory_order_acquire)) return *made;
  const std::lock_guard lock(platform_mutex_);
  platform* made = platform_.load(std::memory_order_relaxed);
  if (made == nullptr) {
    // Leaked on purpose: the drivers' threads outlive main().
    made = new platform(options_);
    platform_.store(made, std::memory_order_release);
  }
  return *made;
}

device& opencl_runtime::at(int32_t index) {
  const platform& all = there();
  device& found = device_at(all.devices(), index, all.problem());
  // After the index: the text for a wrong index is right in a child too.
  all.check_not_forked();
  return found;
}

device& opencl_runtime::host_device() {
  const platform& all = there();
  if (all.devices().empty()) throw unsupported(all.problem());
  all.check_not_forked();
  return *all.devices().front();
}

int32_t opencl_runtime::device_count() {
  return int32_t(there().devices().size());
}

outback_device_info opencl_runtime::device_info(int32_t index) {
  return at(index).facts().info;
}

void opencl_runtime::device_sync(int32_t index) {
  at(index).sync();
}

void opencl_runtime::device_select(int32_t index) {
  at(index);  // checks the index; the driver has no current device
}

bool opencl_runtime::device_is_active(int32_t index) {
  return at(index).active();
}

memory_amount opencl_runtime::memory_usage(int32_t index) {
  device& d = at(index);
  const uint64_t size = d.facts().info.memory_size, used = d.budget().used();
  return {.free = used < size ? size - used : 0, .total = size};
}

void* opencl_runtime::native_device(int32_t index) {
  return at(index).handle();
}

void* opencl_runtime::native_context(int32_t index) {
  return at(index).context();
}

void* opencl_runtime::native_stream(int32_t index, outback_stream handle) {
  command_queue& q = queue_of(at(index), handle);
  // Before the handle is out: from now on others may enqueue commands.
  q.expose();
  return q.handle();
}

outback_stream opencl_runtime::native_wrap_stream(int32_t index, void* handle) {
  return reinterpret_cast<outback_stream>(
      at(index).wrap_stream(static_cast<cl_command_queue>(handle)));
}

void opencl_runtime::callback_enqueue(int32_t index, outback_callback callback, void* data,
                                      outback_stream handle) {
  device& d = at(index);
  command_queue& q = queue_of(d, handle);
  const record_place place = q.place_of({.kind = OUTBACK_RECORD_CALLBACK});
  if (place.recording == 0) return q.enqueue_host_work([=] { callback(data); });
  q.enqueue_host_work([=, &d] {
    // On the clock of the other records. It is known, since the recording has begun.
    const int64_t begin = d.now();
    callback(data);
    place.log->add(place.recording, {.kind = OUTBACK_RECORD_CALLBACK,
                                     .flags = 0,
                                     .stream = place.stream,
                                     .begin = begin,
                                     .end = d.now(),
                                     .bytes = 0,
                                     .correlation = place.correlation,
                                     .name = nullptr,
                                     .reserved = 0});
  });
}

}  // namespace outback::opencl
