// The callback slot of the host runtime.
#include "backend_template/runtimes/host/host_runtime.hpp"

namespace outback::host {

// The callback always runs on the stream's thread, even if the stream is idle: the caller may hold
// a lock that the callback takes (Python's GIL, say).
void host_runtime::callback_enqueue(int32_t index, outback_callback callback, void* data,
                                    outback_stream where) {
  stream_at(index, where).enqueue([=] { callback(data); });
}

}  // namespace outback::host
