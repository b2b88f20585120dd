#include "outback/kernels/stream.h"

#include <c10/util/Exception.h>

#include "backend_template/core/device.h"
#include "backend_template/core/runtime.h"
#include "backend_template/core/stream.h"

namespace outback::kernels {
namespace {

c10::Stream stream_on(c10::Device device) {
  TORCH_CHECK(device.type() == core::device_type, "Expected a device of ", core::backend_name(),
              " for a native kernel, but found ", device);
  return core::current_stream(device.index());
}

}  // namespace

kernel_stream::kernel_stream(c10::Device device)
    : stream_(stream_on(device)),
      handle_(core::handle_of(stream_)),
      device_before_(core::exchange_device(stream_.device_index())) {}

kernel_stream::~kernel_stream() {
  mark_launched();
  core::set_device_unchecked(device_before_);
}

void kernel_stream::wait() {
  core::synchronize_stream(stream_);
  has_work_ = false;
}

void kernel_stream::mark_launched() {
  if (has_work_) core::mark_busy(stream_);
}

}  // namespace outback::kernels
