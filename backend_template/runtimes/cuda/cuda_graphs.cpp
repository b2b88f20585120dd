// The graph slots of the CUDA runtime.
#include <memory>

#include "backend_template/runtimes/cuda/cuda_runtime.hpp"
#include "backend_template/runtimes/cuda/current.hpp"

namespace outback::cuda {

graph& cuda_runtime::graph_at(device& d, outback_graph handle) {
  auto& g = *reinterpret_cast<graph*>(handle);
  check_owner("graph", g.of->index(), d.index());
  return g;
}

void cuda_runtime::refuse_in_capture(device& d, const stream& s, const char* what) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  d.call(d.cuda().cudaStreamIsCapturing, s.handle, &status);
  if (status == cudaStreamCaptureStatusNone) return;
  // To ask a stream in a capture whether it is done breaks the capture, as the contract demands.
  d.cuda().cudaStreamQuery(s.handle);
  d.cuda().cudaGetLastError();
  throw invalid_argument(std::string(what) + " cannot be a part of a capture");
}

void cuda_runtime::graph_begin(int32_t index, outback_stream where) {
  device& d = at(index);
  const on_device here(d);
  const stream& s = stream_at(d, where);
  // Counted before the capture begins, so that no copy of another thread misses it.
  ++captures_;
  // Relaxed: in the other modes only this thread could end the capture, and allocations and queries
  // of other threads would fail meanwhile.
  const cudaError_t error = d.unloading().begin_capture(
      [&] { return d.cuda().cudaStreamBeginCapture(s.handle, cudaStreamCaptureModeRelaxed); });
  if (error == cudaSuccess) return;
  --captures_;
  d.fail(error, d.cuda().cudaStreamBeginCapture.name);
}

outback_capture cuda_runtime::graph_status(int32_t index, outback_stream where) {
  device& d = at(index);
  const on_device here(d);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  d.call(d.cuda().cudaStreamIsCapturing, stream_at(d, where).handle, &status);
  switch (status) {
    case cudaStreamCaptureStatusActive:
      return OUTBACK_CAPTURE_ACTIVE;
    case cudaStreamCaptureStatusInvalidated:
      return OUTBACK_CAPTURE_BROKEN;
    default:
      return OUTBACK_CAPTURE_NONE;
  }
}

outback_graph cuda_runtime::graph_end(int32_t index, outback_stream where) {
  device& d = at(index);
  const on_device here(d);
  const stream& s = stream_at(d, where);
  auto g = std::make_unique<graph>();
  g->of = &d;
  const cudaError_t error = d.cuda().cudaStreamEndCapture(s.handle, &g->captured);
  // A failed call may have ended the capture or not. It has not if there was none (IllegalState),
  // or if the stream is still in one, which began on another stream.
  cudaStreamCaptureStatus left = cudaStreamCaptureStatusNone;
  if (error != cudaSuccess) d.cuda().cudaStreamIsCapturing(s.handle, &left);
  if (error != cudaErrorIllegalState && left == cudaStreamCaptureStatusNone) --captures_;
  if (error != cudaSuccess) d.fail(error, d.cuda().cudaStreamEndCapture.name);
  return reinterpret_cast<outback_graph>(g.release());
}

void cuda_runtime::graph_instantiate(int32_t index, outback_graph handle) {
  device& d = at(index);
  graph& g = graph_at(d, handle);
  const beside_captures here(d);
  const std::lock_guard lock(g.mutex);
  if (g.executable != nullptr) throw invalid_argument("the graph was instantiated already");
  d.call(d.cuda().cudaGraphInstantiateWithFlags, &g.executable, g.captured, 0ull);
}

void cuda_runtime::graph_launch(int32_t index, outback_graph handle, outback_stream where) {
  device& d = at(index);
  graph& g = graph_at(d, handle);
  const on_device here(d);
  const stream& s = stream_at(d, where);
  const std::lock_guard lock(g.mutex);
  if (g.executable == nullptr) throw invalid_argument("the graph was not instantiated");
  // CUDA would take the launch into the graph, which the contract does not allow.
  refuse_in_capture(d, s, "a launch");
  d.call(d.cuda().cudaGraphLaunch, g.executable, s.handle);
}

void cuda_runtime::graph_destroy(int32_t index, outback_graph handle) {
  device& d = listed(index);
  graph& g = graph_at(d, handle);
  if (d.lost()) {
    delete &g;
    d.check_not_lost();
  }
  const beside_captures here(d);
  const std::unique_ptr<graph> gone(&g);  // also if CUDA returns an error of earlier work
  const cudart& cuda = d.cuda();
  const cudaError_t error =
      g.executable == nullptr ? cudaSuccess : cuda.cudaGraphExecDestroy(g.executable);
  d.call(cuda.cudaGraphDestroy, g.captured);
  if (error != cudaSuccess) d.fail(error, cuda.cudaGraphExecDestroy.name);
}

}  // namespace outback::cuda
