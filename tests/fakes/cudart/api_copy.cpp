// Entry points: copies and fills.
#include "tests/fakes/cudart/copy.hpp"

using namespace fake_cuda;

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind kind,
                            cudaStream_t handle) {
  return enter(__func__, [&](call& c) { copy(c, to, from, size, kind, *find_stream(c, handle)); });
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t size, cudaMemcpyKind kind) {
  return enter(__func__, [&](call& c) {
    const stream_ptr legacy = find_stream(c, nullptr);
    refuse_unsafe(c);
    copy(c, to, from, size, kind, *legacy);
    synchronize(c, *legacy);
  });
}

cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t handle) {
  return enter(__func__, [&](call& c) {
    copy_rows(c, to, to_pitch, from, from_pitch, width, height, kind, *find_stream(c, handle));
  });
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                size_t size, cudaStream_t handle) {
  return enter(__func__, [&](call& c) {
    copy_between(c, to, to_device, from, from_device, size, *find_stream(c, handle));
  });
}

cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device,
                           size_t size) {
  return enter(__func__, [&](call& c) {
    const stream_ptr legacy = find_stream(c, nullptr);
    refuse_unsafe(c);
    copy_between(c, to, to_device, from, from_device, size, *legacy);
    synchronize(c, *legacy);
  });
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t size, cudaStream_t handle) {
  return enter(__func__, [&](call& c) {
    fill(c, to, size, {.value = unsigned(value) & 0xff, .size = 1}, size, 1,
         *find_stream_here(c, handle));
  });
}

cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t handle) {
  return enter(__func__, [&](call& c) {
    fill(c, to, pitch, {.value = unsigned(value) & 0xff, .size = 1}, width, height,
         *find_stream_here(c, handle));
  });
}

cudaError_t cudaMemset(void* to, int value, size_t size) {
  return enter(__func__, [&](call& c) {
    const stream_ptr legacy = find_stream(c, nullptr);
    refuse_unsafe(c);
    fill(c, to, size, {.value = unsigned(value) & 0xff, .size = 1}, size, 1, *legacy);
    synchronize(c, *legacy);
  });
}
