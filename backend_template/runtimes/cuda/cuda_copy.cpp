// Copies and fills of the CUDA runtime.
#include <algorithm>
#include <array>
#include <cstring>

#include "backend_template/runtimes/cuda/cuda_runtime.hpp"
#include "backend_template/runtimes/cuda/current.hpp"

namespace outback::cuda {
namespace {

bool pageable(device& d, const void* ptr) {
  pointer_attributes attributes = {};
  d.call(d.cuda().cudaPointerGetAttributes, &attributes.known, ptr);
  return attributes.known.type == cudaMemoryTypeUnregistered;
}

// The smallest piece that the pattern is a repetition of.
std::size_t period_of(const std::byte* pattern, std::size_t size) {
  while (size > 1 && std::memcmp(pattern, pattern + size / 2, size / 2) == 0) size /= 2;
  return size;
}

template <class T>
T word_of(const std::byte* bytes) {
  T word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

}  // namespace

void cuda_runtime::mem_copy(void* dst, int32_t dst_device, const void* src, int32_t src_device,
                            std::size_t size, outback_stream handle) {
  const bool from_host = src_device == OUTBACK_HOST, to_host = dst_device == OUTBACK_HOST;
  if (from_host && to_host) throw invalid_argument("both sides of the copy are host memory");
  device& d = at(from_host ? dst_device : src_device);
  if (!from_host && !to_host) at(dst_device);
  const on_device here(d);
  const stream& s = stream_at(d, handle);
  if (size == 0) return;
  const cudart& cuda = d.cuda();
  if (!from_host && !to_host && dst_device != src_device) {
    d.call(cuda.cudaMemcpyPeerAsync, dst, int(dst_device), src, int(src_device), size, s.handle);
    return;
  }
  if ((from_host || to_host) && captures_.load(std::memory_order_relaxed) != 0 &&
      pageable(d, from_host ? src : dst)) {
    refuse_in_capture(d, s, "a copy from or to pageable host memory");
  }
  d.call(cuda.cudaMemcpyAsync, dst, src, size,
         from_host ? cudaMemcpyHostToDevice
         : to_host ? cudaMemcpyDeviceToHost
                   : cudaMemcpyDeviceToDevice,
         s.handle);
}

void cuda_runtime::mem_fill(int32_t index, void* ptr, std::size_t size, const void* pattern,
                            std::size_t pattern_size, outback_stream handle) {
  device& d = at(index);
  const on_device here(d);
  const cudaStream_t where = stream_at(d, handle).handle;
  if (size == 0) return;
  auto* const to = static_cast<std::byte*>(ptr);
  auto* const bytes = static_cast<const std::byte*>(pattern);
  const std::size_t period = period_of(bytes, pattern_size);
  // CUDA fills words only where they are aligned; eight bytes are two words.
  const std::size_t word = std::min<std::size_t>(period, 4);
  if (reinterpret_cast<uintptr_t>(ptr) % word == 0) {
    fill_aligned(d, to, size, bytes, period, where);
    return;
  }
  for (std::size_t i = 0; i < period; ++i) {
    d.call(d.cuda().cudaMemset2DAsync, static_cast<void*>(to + i), period,
           std::to_integer<int>(bytes[i]), std::size_t{1}, size / period, where);
  }
}

void cuda_runtime::fill_aligned(device& d, std::byte* to, std::size_t size, const std::byte* bytes,
                                std::size_t period, cudaStream_t where) {
  const auto address = reinterpret_cast<CUdeviceptr>(to);
  switch (period) {
    case 1:
      d.call(d.cuda().cudaMemsetAsync, static_cast<void*>(to), std::to_integer<int>(bytes[0]), size,
             where);
      return;
    case 2:
      d.call(d.driver().cuMemsetD16Async, address, word_of<unsigned short>(bytes), size / 2, where);
      return;
    case 4:
      d.call(d.driver().cuMemsetD32Async, address, word_of<unsigned>(bytes), size / 4, where);
      return;
    default:  // every other word by one call, those between by another
      for (const std::size_t half : {0, 4}) {
        d.call(d.driver().cuMemsetD2D32Async, CUdeviceptr(address + half), std::size_t{8},
               word_of<unsigned>(bytes + half), std::size_t{1}, size / 8, where);
      }
  }
}

}  // namespace outback::cuda
