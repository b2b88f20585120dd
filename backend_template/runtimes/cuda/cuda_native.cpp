// The native slots of the CUDA runtime: CUDA's own handles, and streams made of them.
#include "backend_template/runtimes/cuda/cuda_runtime.hpp"
#include "backend_template/runtimes/cuda/current.hpp"

namespace outback::cuda {
namespace {

// Whether the handle is 0, 1 or 2: CUDA's default streams, which belong to whatever context is
// current, so that their device cannot be asked for.
bool is_of_every_context(cudaStream_t handle) {
  return handle == nullptr || handle == cudaStreamLegacy || handle == cudaStreamPerThread;
}

// Throws unless the stream is the device's. One in a capture is taken on trust: CUDA refuses to say
// whose it is (cudaErrorStreamCaptureUnsupported, seen with libcudart 13.0), and the question would
// end the capture.
void refuse_others(device& d, cudaStream_t native) {
  const beside_captures here(d);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  d.call(d.cuda().cudaStreamIsCapturing, native, &status);
  if (status != cudaStreamCaptureStatusNone) return;
  int owner = -1;
  // libcudart before 12.8 has no such function; then the stream's context tells whether the stream
  // is this device's.
  if (d.cuda().cudaStreamGetDevice) {
    d.call(d.cuda().cudaStreamGetDevice, native, &owner);
  } else {
    CUcontext context = nullptr;
    d.call(d.driver().cuStreamGetCtx, native, &context);
    if (context == d.context()) owner = d.index();
  }
  if (owner == d.index()) return;
  throw invalid_argument("the stream is of " +
                         (owner < 0 ? "another device" : "device " + std::to_string(owner)) +
                         ", not of device " + std::to_string(d.index()));
}

}  // namespace

void* cuda_runtime::native_device(int32_t index) {
  return reinterpret_cast<void*>(intptr_t{at(index).handle()});
}

void* cuda_runtime::native_context(int32_t index) {
  device& d = at(index);
  const on_device here(d);  // makes the context if there is none
  return d.context();
}

void* cuda_runtime::native_stream(int32_t index, outback_stream handle) {
  device& d = at(index);
  const on_device here(d);
  return stream_at(d, handle).handle;
}

void* cuda_runtime::native_event(int32_t index, outback_event handle) {
  return event_at(at(index), handle).handle;
}

outback_stream cuda_runtime::native_wrap_stream(int32_t index, void* handle) {
  device& d = at(index);
  const auto native = static_cast<cudaStream_t>(handle);
  if (!is_of_every_context(native)) refuse_others(d, native);
  return reinterpret_cast<outback_stream>(new stream{.of = &d, .handle = native, .owned = false});
}

}  // namespace outback::cuda
