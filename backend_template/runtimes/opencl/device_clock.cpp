#include "backend_template/runtimes/opencl/device_clock.hpp"

#include <array>
#include <ctime>

#include "outback/runtime_error.hpp"

namespace outback::opencl {
namespace {

// The one that drivers like best first: two of them may show the same time.
constexpr std::array host_clocks = {CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC, CLOCK_REALTIME,
                                    CLOCK_BOOTTIME};
using times = std::array<int64_t, host_clocks.size()>;

int64_t read(int clock) noexcept {
  timespec now = {};
  clock_gettime(clock, &now);
  return int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

times read_all() noexcept {
  times all;
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = read(host_clocks[i]);
  return all;
}

int find_host_clock(const std::function<event_ref()>& mark) {
  const times before = read_all();
  const event_ref done = mark();
  done.wait();
  const times after = read_all();
  cl_ulong ns = 0;
  for (std::size_t i = 0; done.time(CL_PROFILING_COMMAND_END, ns) && i < host_clocks.size(); ++i) {
    if (before[i] <= int64_t(ns) && int64_t(ns) <= after[i]) return host_clocks[i];
  }
  throw unsupported(
      "the driver does not tell what time it is on the clock of its timestamps "
      "(clGetDeviceAndHostTimer), and that is no clock of the host's");
}

bool ask_driver(const driver_api& api, cl_device_id device, cl_ulong& ns) noexcept {
  cl_ulong host = 0;
  const auto& ask = api.clGetDeviceAndHostTimer;
  return ask && ask(device, &ns, &host) == CL_SUCCESS;
}

}  // namespace

int64_t device_clock::now(const driver_api& api, cl_device_id device,
                          const std::function<event_ref()>& mark) {
  cl_ulong ns = 0;
  int source = source_.load(std::memory_order_acquire);
  if (source == unknown) {
    // Held while the first call waits for its mark: the queue is idle, so that takes microseconds.
    const std::lock_guard lock(mutex_);
    source = source_.load(std::memory_order_relaxed);
    if (source == unknown) {
      source = ask_driver(api, device, ns) ? of_driver : find_host_clock(mark);
      source_.store(source, std::memory_order_release);
    }
  }
  if (source != of_driver) return read(source);
  if (!ask_driver(api, device, ns)) ns = last_.load(std::memory_order_relaxed);
  last_.store(ns, std::memory_order_relaxed);
  return int64_t(ns);
}

}  // namespace outback::opencl
