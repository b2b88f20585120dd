// The copy and fill slots of the CUDA runtime.
#include <algorithm>
#include <cstring>

#include "backend_template/runtimes/cuda/cuda_runtime.hpp"
#include "backend_template/runtimes/cuda/current.hpp"
#include "backend_template/runtimes/fill_pattern.hpp"

namespace outback::cuda {
namespace {

// Whether `ptr` is host memory that CUDA does not know as pinned.
bool pageable(device& d, const void* ptr) {
  pointer_attributes attributes = {};
  d.call(d.cuda().cudaPointerGetAttributes, &attributes.known, ptr);
  return attributes.known.type == cudaMemoryTypeUnregistered;
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
  device& d = at(from_host ? dst_device : src_device);
  if (!from_host && !to_host) at(dst_device);
  const on_device here(d);
  const stream& s = stream_at(d, handle);
  if (size == 0) return;
  const cudart& cuda = d.cuda();
  if (!from_host && !to_host && dst_device != src_device) {
    // libcudart goes through host memory by itself where the devices cannot reach each other.
    d.call(cuda.cudaMemcpyPeerAsync, dst, int(dst_device), src, int(src_device), size, s.handle);
    return;
  }
  // Asking about the pointer costs a call, so it is only done while a capture that began here is
  // open.
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
  const std::size_t period = pattern_period(bytes, pattern_size);
  // CUDA fills with words of one, two or four bytes, and only where they are aligned. The longest
  // word that fits is chosen, since each word of the pattern is a fill of its own.
  std::size_t word = std::min<std::size_t>(period, 4);
  while (reinterpret_cast<uintptr_t>(ptr) % word != 0) word /= 2;
  if (word == period) return fill_words(d, to, size, bytes, word, where);
  fill_by_doubling(
      size, bytes, period, word,
      [&](std::size_t at, const std::byte* value) {
        fill_words(d, to + at, word, value, word, where);
      },
      [&](std::size_t at, std::size_t from, std::size_t part) {
        d.call(d.cuda().cudaMemcpyAsync, static_cast<void*>(to + at),
               static_cast<const void*>(to + from), part, cudaMemcpyDeviceToDevice, where);
      });
}

void cuda_runtime::fill_words(device& d, std::byte* to, std::size_t size, const std::byte* value,
                              std::size_t word, cudaStream_t where) {
  const auto address = reinterpret_cast<CUdeviceptr>(to);
  switch (word) {
    case 1:
      d.call(d.cuda().cudaMemsetAsync, static_cast<void*>(to), std::to_integer<int>(*value), size,
             where);
      return;
    case 2:
      d.call(d.driver().cuMemsetD16Async, address, word_of<unsigned short>(value), size / 2, where);
      return;
    default:
      d.call(d.driver().cuMemsetD32Async, address, word_of<unsigned>(value), size / 4, where);
  }
}

}  // namespace outback::cuda
