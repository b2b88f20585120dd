// The stream slots of the CUDA runtime, and the callback slot.
#include <algorithm>
#include <memory>

#include "backend_template/runtimes/cuda/cuda_runtime.hpp"
#include "backend_template/runtimes/cuda/current.hpp"

namespace outback::cuda {

outback_stream cuda_runtime::stream_create(int32_t index, int32_t priority) {
  device& d = at(index);
  const on_device here(d);
  const priority_range range = d.priorities();
  auto s = std::make_unique<stream>(stream{.of = &d, .handle = nullptr, .owned = true});
  d.call(d.cuda().cudaStreamCreateWithPriority, &s->handle, unsigned{cudaStreamNonBlocking},
         std::clamp(priority, range.greatest, range.least));
  return reinterpret_cast<outback_stream>(s.release());
}

void cuda_runtime::stream_destroy(int32_t index, outback_stream handle) {
  device& d = listed(index);
  stream& s = stream_at(d, handle);
  // A wrapped stream is its maker's. What a lost context had, CUDA cannot destroy any more; only
  // our own object goes.
  if (!s.owned || d.lost()) {
    d.unloading().remove_stream(d, s);
    delete &s;
    return d.check_not_lost();
  }
  const on_device here(d);
  const std::unique_ptr<stream> gone(&s);  // also if CUDA returns an error of earlier work
  d.unloading().remove_stream(d, s);
  d.call(d.cuda().cudaStreamDestroy, s.handle);
}

bool cuda_runtime::stream_query(int32_t index, outback_stream handle) {
  device& d = at(index);
  const beside_captures here(d);
  return d.query(d.cuda().cudaStreamQuery, stream_at(d, handle).handle);
}

void cuda_runtime::stream_sync(int32_t index, outback_stream handle) {
  device& d = at(index);
  const beside_captures here(d);
  d.call(d.cuda().cudaStreamSynchronize, stream_at(d, handle).handle);
}

priority_range cuda_runtime::stream_priorities(int32_t index) {
  device& d = at(index);
  const on_device here(d);
  return d.priorities();
}

void cuda_runtime::callback_enqueue(int32_t index, outback_callback callback, void* data,
                                    outback_stream where) {
  device& d = at(index);
  const on_device here(d);
  // CUDA's rules for such a function are the contract's: it runs in the stream's order, may not
  // call CUDA, runs again in each launch of a graph, and does not run after an error.
  d.call(d.cuda().cudaLaunchHostFunc, stream_at(d, where).handle, callback, data);
}

}  // namespace outback::cuda
