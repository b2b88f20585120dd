#include "backend_template/runtimes/cuda/cuda_runtime.hpp"

#include <cstdio>
#include <memory>
#include <string>

#include "backend_template/runtimes/cuda/current.hpp"
#include "backend_template/runtimes/fork_count.hpp"

namespace outback::cuda {

static_assert(device_runtime<cuda_runtime>);

cuda_runtime::~cuda_runtime() {
  delete machine_;
}

const machine& cuda_runtime::start() {
  // Held while CUDA starts, which takes long: every other thread that needs CUDA has to wait for
  // that anyway.
  const std::lock_guard lock(start_mutex_);
  if (const machine* known = machine_.load(std::memory_order_acquire)) return *known;
  did_not_start_ = true;  // after a success machine_ is asked first
  std::unique_ptr<machine> fresh = start_cuda();
  const int32_t counted = counted_;
  // A program may have kept the first number. It is told, since failing here would help it less.
  if (counted >= 0 && counted != int32_t(fresh->devices.size())) {
    std::fprintf(stderr,
                 "outback: NVML sees %d devices of CUDA's, CUDA sees %d, which is what counts from "
                 "now on%s%s\n",
                 counted, int(fresh->devices.size()), fresh->absence.empty() ? "" : ": ",
                 fresh->absence.c_str());
  }
  machine_.store(fresh.get(), std::memory_order_release);
  return *fresh.release();
}

const machine& cuda_runtime::started() {
  const machine* known = machine_.load(std::memory_order_acquire);
  return known != nullptr ? *known : start();
}

const machine& cuda_runtime::usable() {
  const machine& m = started();
  // CUDA does not work in a forked child, and may hang instead of saying so.
  check_not_forked(m.forks, "CUDA had been started");
  return m;
}

device& cuda_runtime::listed(int32_t index) {
  const machine& m = usable();
  return device_at(m.devices, index, m.absence);
}

device& cuda_runtime::at(int32_t index) {
  device& d = listed(index);
  d.check_not_lost();
  return d;
}

stream& cuda_runtime::stream_at(device& d, outback_stream handle) {
  if (handle == nullptr) return d.default_stream();
  auto& s = *reinterpret_cast<stream*>(handle);
  check_owner("stream", s.of->index(), d.index());
  return s;
}

int32_t cuda_runtime::device_count() {
  // Once CUDA was started its count is final, also in a forked child.
  if (const machine* m = machine_.load(std::memory_order_acquire)) {
    return int32_t(m->devices.size());
  }
  if (counted_ < 0) counted_ = count_without_cuda();
  // NVML also counts devices of a machine on which CUDA does not start. So once starting has
  // failed, only another try tells.
  if (counted_ >= 0 && !did_not_start_) return counted_;
  // NVML also counts devices of a machine on which CUDA does not start.
  try {
    return int32_t(started().devices.size());
  } catch (const runtime_error&) {
    return 0;  // the next slot that needs a device says why
  }
}

outback_device_info cuda_runtime::device_info(int32_t index) {
  return at(index).info();
}

void cuda_runtime::device_sync(int32_t index) {
  device& d = at(index);
  const beside_captures here(d);
  d.unloading().unload_after(d, [&] { d.call(d.cuda().cudaDeviceSynchronize); });
}

void cuda_runtime::device_select(int32_t index) {
  device& d = at(index);
  // No on_device here: changing the thread's current device is the purpose.
  d.call(d.cuda().cudaSetDevice, int(index));
}

bool cuda_runtime::device_is_active(int32_t index) {
  return at(index).active();
}

memory_amount cuda_runtime::memory_usage(int32_t index) {
  device& d = at(index);
  const on_device here(d);
  memory_amount amount = {};
  d.call(d.cuda().cudaMemGetInfo, &amount.free, &amount.total);
  return amount;
}

}  // namespace outback::cuda
