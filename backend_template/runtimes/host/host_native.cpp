// The native slots of the host runtime: its own objects as handles, and streams made from such
// handles.
#include "backend_template/runtimes/host/event.hpp"
#include "backend_template/runtimes/host/host_runtime.hpp"

namespace outback::host {

void* host_runtime::native_device(int32_t index) {
  return &at(index);
}

void* host_runtime::native_context(int32_t index) {
  at(index);
  return this;  // what all its devices have in common
}

void* host_runtime::native_stream(int32_t index, outback_stream handle) {
  return &stream_at(index, handle);
}

void* host_runtime::native_event(int32_t index, outback_event handle) {
  return &event_at(index, handle);
}

outback_stream host_runtime::native_wrap_stream(int32_t index, void* handle) {
  return reinterpret_cast<outback_stream>(at(index).wrap_stream(handle));
}

}  // namespace outback::host
