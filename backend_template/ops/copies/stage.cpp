#include "backend_template/ops/copies/stage.h"

#include <ATen/core/CachingHostAllocator.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>

#include "backend_template/core/memory/copy.h"
#include "backend_template/core/memory/host_allocator.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/ops/in_place/tensor_fields.h"

namespace outback::ops {
namespace {

// Both in bytes. Pinned memory occupies all its pages; pageable memory only those that are touched.
// So a large storage of which a call uses less than a quarter gets pageable memory.
bool is_worth_pinning(size_t size, size_t used) {
  constexpr size_t large = size_t{1} << 20;
  return size <= large || size / 4 <= used;
}

}  // namespace

// Gaps between the elements belong to other tensors and are written back too.
void stage::use(const c10::TensorImpl& tensor, bool overwritten) {
  const byte_range bytes = is_plain(tensor) ? bytes_of(tensor) : all();
  used_.add(bytes);
  const bool is_all_new = overwritten && is_plain(tensor) && tensor.is_non_overlapping_and_dense();
  if (!is_all_new) fetched_.add(bytes);
}

void stage::use_all() {
  used_.add(all());
  fetched_.add(all());
  written_.add(all());
}

void stage::note_written(const c10::TensorImpl& alias) {
  written_.add(is_plain(alias) ? bytes_of(alias) : byte_range{0, alias.unsafe_storage().nbytes()});
}

void stage::fill(c10::StorageImpl& alias) {
  const size_t size = source_.nbytes();
  if (source_.data() == nullptr || size == 0) return;  // a zero tensor has a size but no memory
  const bool is_pinned = is_worth_pinning(size, used_.size());
  alias.set_data_ptr_noswap(is_pinned ? core::allocate_for_copies(size)
                                      : c10::GetCPUAllocator()->allocate(size));
  fetch(alias.mutable_data(), fetched_);
}

void stage::write_back(c10::StorageImpl& alias) {
  if (alias.data() == nullptr) return;
  auto* const to = static_cast<char*>(source_.mutable_data());
  const auto* const from = static_cast<const char*>(alias.data());
  for (const byte_range& bytes : written_) {
    core::copy_bytes(to + bytes.begin, source_.device(), from + bytes.begin, c10::Device(c10::kCPU),
                     bytes.end - bytes.begin, /*non_blocking=*/true);
  }
}

// The new memory may be smaller or larger than the storage: only what fits in both is fetched.
void stage::complete(c10::StorageImpl& alias) {
  byte_ranges known = fetched_;
  for (const byte_range& bytes : written_) known.add(bytes);
  fetch(alias.mutable_data(), known.others(std::min(source_.nbytes(), alias.nbytes())));
  core::drain(source_.device().index());
}

void stage::fetch(void* to, const byte_ranges& bytes) {
  if (to == nullptr || source_.data() == nullptr) return;
  const auto* const from = static_cast<const char*>(source_.data());
  for (const byte_range& range : bytes) {
    core::copy_bytes(static_cast<char*>(to) + range.begin, c10::Device(c10::kCPU),
                     from + range.begin, source_.device(), range.end - range.begin,
                     /*non_blocking=*/true);
  }
}

}  // namespace outback::ops
