#include "backend_template/ops/fallback/stage.h"

#include <ATen/core/CachingHostAllocator.h>
#include <c10/core/Allocator.h>

#include <algorithm>
#include <cstdint>

#include "backend_template/core/copy.h"
#include "backend_template/core/host_allocator.h"

namespace outback::ops {

void byte_range::add(byte_range other) {
  if (other.empty()) return;
  if (empty()) {
    *this = other;
    return;
  }
  begin = std::min(begin, other.begin);
  end = std::max(end, other.end);
}

byte_range bytes_of(const c10::TensorImpl& tensor) {
  if (tensor.numel() == 0) return {};
  int64_t last = tensor.storage_offset();
  for (int64_t d = 0; d < tensor.dim(); ++d) last += (tensor.size(d) - 1) * tensor.stride(d);
  const size_t item = tensor.itemsize();
  return {static_cast<size_t>(tensor.storage_offset()) * item,
          (static_cast<size_t>(last) + 1) * item};
}

c10::DataPtr allocate_stage(const c10::StorageImpl& storage) {
  const bool has_memory = storage.data() != nullptr;  // a zero tensor has a size and no memory
  if (!has_memory || storage.nbytes() == 0) return {nullptr, c10::Device(c10::kCPU)};
  return core::host_allocator().allocate(storage.nbytes());
}

void copy_in(void* stage, const void* data, c10::Device device, byte_range bytes) {
  if (bytes.empty() || stage == nullptr) return;
  core::copy_bytes(static_cast<char*>(stage) + bytes.begin, c10::Device(c10::kCPU),
                   static_cast<const char*>(data) + bytes.begin, device, bytes.end - bytes.begin,
                   /*non_blocking=*/true);
}

void copy_out(void* data, c10::Device device, const void* stage, byte_range bytes) {
  if (bytes.empty() || stage == nullptr) return;
  core::copy_bytes(static_cast<char*>(data) + bytes.begin, device,
                   static_cast<const char*>(stage) + bytes.begin, c10::Device(c10::kCPU),
                   bytes.end - bytes.begin, /*non_blocking=*/true);
}

}  // namespace outback::ops
