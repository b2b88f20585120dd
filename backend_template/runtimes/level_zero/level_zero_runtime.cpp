#include "backend_template/runtimes/level_zero/level_zero_runtime.hpp"

#include <algorithm>
#include <string>

namespace outback::level_zero {
namespace {

// Returns the value, or throws outback::unsupported with what Sysman needs.
template <class T>
T told(std::optional<T> value, int32_t index) {
  if (value) return *std::move(value);
  throw unsupported(
      "Sysman does not tell this of device " + std::to_string(index) +
      ": it has to be there (ZES_ENABLE_SYSMAN=1 before the first use of Level Zero, or a loader "
      "of API 1.5), and this user has to be allowed to read it");
}

}  // namespace

static_assert(device_runtime<level_zero_runtime>);

platform& level_zero_runtime::there() {
  if (platform* const made = platform_.load(std::memory_order_acquire)) return *made;
  const std::lock_guard lock(platform_mutex_);
  platform* made = platform_.load(std::memory_order_relaxed);
  if (made == nullptr) {
    // Leaked on purpose: the driver's threads outlive main().
    made = new platform(options_);
    platform_.store(made, std::memory_order_release);
  }
  return *made;
}

device& level_zero_runtime::listed(int32_t index) {
  const platform& all = there();
  device& found = device_at(all.devices(), index, all.problem());
  // After the index: the text for a wrong index is right in a child too.
  all.check_not_forked();
  return found;
}

device& level_zero_runtime::at(int32_t index) {
  device& d = listed(index);
  if (d.lost()) {
    throw noted_loss("device " + std::to_string(index) +
                     " was lost before: the driver cannot use it again in this process");
  }
  return d;
}

const platform& level_zero_runtime::usable() {
  const platform& all = there();
  if (all.devices().empty()) throw unsupported(all.problem());
  all.check_not_forked();
  return all;
}

device& level_zero_runtime::host_device() {
  for (const auto& each : usable().devices()) {
    if (!each->lost()) return *each;
  }
  return at(0);  // throws
}

int32_t level_zero_runtime::device_count() {
  return int32_t(there().devices().size());
}

outback_device_info level_zero_runtime::device_info(int32_t index) {
  return on(index, [](device& d) { return d.facts().info; });
}

void level_zero_runtime::device_sync(int32_t index) {
  on(index, [](device& d) { d.sync(); });
}

void level_zero_runtime::device_select(int32_t index) {
  at(index);  // checks the index; the driver has no current device
}

bool level_zero_runtime::device_is_active(int32_t index) {
  return at(index).active();
}

memory_amount level_zero_runtime::memory_usage(int32_t index) {
  return on(index, [](device& d) {
    const uint64_t size = d.facts().info.memory_size, used = d.budget().used();
    // The limit of mem_alloc counts, too: Sysman may report more as free than this process would
    // get.
    const std::size_t left = used < size ? size - used : 0;
    if (const auto whole = d.sensors().memory()) {
      return memory_amount{.free = std::min(whole->free, left), .total = whole->total};
    }
    return memory_amount{.free = left, .total = size};
  });
}

void* level_zero_runtime::native_device(int32_t index) {
  return at(index).handle();
}

void* level_zero_runtime::native_context(int32_t index) {
  return at(index).context();
}

void* level_zero_runtime::native_stream(int32_t index, outback_stream handle) {
  return on(index, [&](device& d) -> void* {
    command_queue& q = queue_of(d, handle);
    // Before the handle is out: from now on others may append to the list.
    q.expose();
    return q.list();
  });
}

outback_stream level_zero_runtime::native_wrap_stream(int32_t index, void* handle) {
  return on(index, [&](device& d) {
    return reinterpret_cast<outback_stream>(
        d.wrap_stream(static_cast<ze_command_list_handle_t>(handle)));
  });
}

void level_zero_runtime::callback_enqueue(int32_t index, outback_callback callback, void* data,
                                          outback_stream handle) {
  on(index, [&](device& d) { queue_of(d, handle).enqueue_host_work([=] { callback(data); }); });
}

int64_t level_zero_runtime::telemetry_read(int32_t index, outback_metric metric) {
  return on(index, [&](device& d) -> int64_t {
    std::optional<int64_t> value;
    switch (metric) {
      // Of this process. Sysman knows only the whole device.
      case OUTBACK_METRIC_MEMORY_USED:
        return int64_t(d.budget().used());
      case OUTBACK_METRIC_DEVICE_MEMORY_USED:
        if (const auto whole = d.sensors().memory()) value = int64_t(whole->total - whole->free);
        break;
      case OUTBACK_METRIC_UTILIZATION:
        value = d.sensors().utilization();
        break;
      case OUTBACK_METRIC_TEMPERATURE:
        value = d.sensors().temperature();
        break;
      case OUTBACK_METRIC_POWER:
        value = d.sensors().power();
        break;
      case OUTBACK_METRIC_CLOCK:
        value = d.sensors().clock_rate();
        break;
      default:
        throw unsupported("Level Zero does not measure metric " + std::to_string(metric));
    }
    return told(value, index);
  });
}

std::vector<outback_process> level_zero_runtime::telemetry_processes(int32_t index) {
  return on(index, [&](device& d) { return told(d.sensors().processes(), index); });
}

}  // namespace outback::level_zero
