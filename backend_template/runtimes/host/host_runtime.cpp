#include "backend_template/runtimes/host/host_runtime.hpp"

#include <cstdio>
#include <thread>

namespace outback::host {

static_assert(device_runtime<host_runtime>);

host_runtime::host_runtime(const host_options& options) : options_(options) {
  if (options.devices < 0 || options.devices > max_devices) {
    throw invalid_argument("a host runtime has 0 to " + std::to_string(max_devices) +
                           " devices, not " + std::to_string(options.devices));
  }
  if (options.protected_memory && (options.host_addressable || options.addresses_host)) {
    throw invalid_argument("memory that is protected from the CPU cannot be host-addressable");
  }
  if (options.protected_memory) prepare_protected_addresses();
  const auto failing =
      options.fail_work == 0 ? nullptr : std::make_shared<failing_work>(options.fail_work);
  for (int32_t i = 0; i < options.devices; ++i) {
    devices_.push_back(
        std::make_unique<device>(i, memory_size_of(options), options.adversarial, failing));
  }
}

device& host_runtime::at(int32_t index) const {
  check_device(index, int32_t(devices_.size()));
  return *devices_[std::size_t(index)];
}

stream& host_runtime::stream_at(int32_t index, outback_stream handle) const {
  device& d = at(index);
  if (handle == nullptr) return d.default_stream();
  auto& s = *reinterpret_cast<stream*>(handle);
  check_owner("stream", s.device(), index);
  // A wrapped stream is another handle of a queue.
  return s.queue();
}

int32_t host_runtime::device_count() {
  return int32_t(devices_.size());
}

outback_device_info host_runtime::device_info(int32_t index) {
  const device& d = at(index);
  outback_device_info info = {};
  if (options_.host_addressable) info.flags |= OUTBACK_HOST_ADDRESSABLE;
  if (options_.addresses_host) info.flags |= OUTBACK_ADDRESSES_HOST;
  // One shared physical memory is claimed only if each side may address the other's.
  if (options_.host_addressable && options_.addresses_host) info.flags |= OUTBACK_INTEGRATED;
  info.memory_size = info.max_alloc_size = d.memory_size();
  info.alignment = alignment;
  info.kernels_of = options_.host_addressable ? 1 : 0;  // kDLCPU
  info.compute_units = std::thread::hardware_concurrency();
  info.max_group_size = max_group_size;
  std::snprintf(info.name, sizeof(info.name), "Outback host device");
  return info;
}

void host_runtime::device_sync(int32_t index) {
  at(index).sync();
}

outback_stream host_runtime::stream_create(int32_t index, int32_t priority) {
  return reinterpret_cast<outback_stream>(at(index).create_stream(priority));
}

void host_runtime::stream_destroy(int32_t index, outback_stream handle) {
  at(index).destroy_stream(reinterpret_cast<stream*>(handle));
}

bool host_runtime::stream_query(int32_t index, outback_stream handle) {
  return stream_at(index, handle).query();
}

void host_runtime::stream_sync(int32_t index, outback_stream handle) {
  stream_at(index, handle).sync();
}

priority_range host_runtime::stream_priorities(int32_t index) {
  at(index);
  return {.least = least_priority, .greatest = greatest_priority};
}

// The callback always runs on the stream's thread, even if the stream is idle: the caller may hold
// a lock that the callback takes (Python's GIL, say).
void host_runtime::callback_enqueue(int32_t index, outback_callback callback, void* data,
                                    outback_stream where) {
  stream_at(index, where)
      .enqueue([=] { callback(data); }, runner::its_thread, {.kind = OUTBACK_RECORD_CALLBACK});
}

void host_runtime::device_select(int32_t index) {
  at(index);
}

bool host_runtime::device_is_active(int32_t index) {
  return at(index).active();
}

memory_amount host_runtime::memory_usage(int32_t index) {
  const device& d = at(index);
  return {.free = std::size_t(d.memory_size() - d.memory_used()),
          .total = std::size_t(d.memory_size())};
}

}  // namespace outback::host
