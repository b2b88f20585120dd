// The current stream of a kernel, by way of the backend's services.
#include "outback/kernels/stream.h"

#include <c10/util/Exception.h>

#include "backend_template/kernels/services.h"

namespace outback::kernels {
namespace {

c10::Stream stream_on(c10::Device device) {
  TORCH_CHECK(device.is_privateuseone(), "Expected a device of ", services().backend_name(),
              " for a native kernel, but found ", device);
  return services().current_stream(device.index());
}

}  // namespace

kernel_stream::kernel_stream(c10::Device device)
    : stream_(stream_on(device)),
      handle_(services().handle_of(stream_)),
      device_before_(services().exchange_device(stream_.device_index())) {}

kernel_stream::~kernel_stream() {
  mark_launched();
  services().set_device_unchecked(device_before_);  // a destructor must not throw
}

void* kernel_stream::native_handle() {
  has_work_ = true;
  return services().native_stream(stream_);
}

int32_t kernel_stream::runtime_device() const {
  return services().runtime_device(stream_.device_index());
}

void kernel_stream::wait() {
  services().synchronize_stream(stream_);
  has_work_ = false;
}

void kernel_stream::mark_launched() {
  if (has_work_) services().mark_busy(stream_);
}

}  // namespace outback::kernels
