#include "backend_template/ops/copies/stage.h"

#include <ATen/core/CachingHostAllocator.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "backend_template/core/memory/copy.h"
#include "backend_template/core/memory/host_allocator.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/ops/tensors/tensor_fields.h"

namespace outback::ops {
namespace {

// Both in bytes. Pinned memory occupies all its pages; pageable memory only those that are touched.
// So a large stage of which a call uses less than a quarter, since its tensors are far apart, is
// pageable memory.
bool is_worth_pinning(size_t size, size_t used) {
  constexpr size_t large = size_t{1} << 20;
  return size <= large || size / 4 <= used;
}

// The largest alignment that the CPU allocator gives, and a multiple of every element's size.
constexpr size_t most_aligned = 64;

}  // namespace

// Gaps between the elements belong to other tensors and are written back too.
void stage::use(const c10::TensorImpl& tensor, bool overwritten) {
  const byte_range bytes = is_plain(tensor) ? bytes_of(tensor) : all();
  // A kernel may resize a tensor without elements, and then it begins at its offset.
  const bool has_none = is_plain(tensor) && bytes.empty();
  reach(has_none ? byte_range{static_cast<size_t>(tensor.storage_offset()) * tensor.itemsize(), 0}
                 : bytes);
  used_.add(bytes);
  const bool is_all_new = overwritten && is_plain(tensor) && tensor.is_non_overlapping_and_dense();
  if (!is_all_new) fetched_.add(bytes);
}

void stage::use_all() {
  reach(all());
  used_.add(all());
  fetched_.add(all());
  written_.add(all());
}

void stage::reach(byte_range bytes) {
  begin_ = std::min(begin_, bytes.begin / most_aligned * most_aligned);
  end_ = std::max(end_, bytes.end);
}

void stage::note_written(const c10::TensorImpl& alias) {
  const byte_range bytes =
      is_plain(alias) ? bytes_of(alias) : byte_range{0, alias.unsafe_storage().nbytes()};
  written_.add({bytes.begin + begin_, bytes.end + begin_});
}

void stage::fill(c10::StorageImpl& alias) {
  // A zero tensor has a size but no memory.
  if (source_.data() == nullptr) {
    begin_ = 0;
    end_ = source_.nbytes();
    return;
  }
  end_ = std::max(begin_, end_);
  const size_t size = end_ - begin_;
  alias.set_nbytes(size);
  if (size == 0) return;
  const bool is_pinned = is_worth_pinning(size, used_.size());
  alias.set_data_ptr_noswap(is_pinned ? core::allocate_for_copies(size)
                                      : c10::GetCPUAllocator()->allocate(size));
  fetch(alias.mutable_data(), begin_, fetched_);
}

bool stage::has_room_for(const c10::StorageImpl& alias) const {
  return end_ - begin_ < source_.nbytes() && begin_ + alias.nbytes() <= source_.nbytes();
}

void stage::write_back(c10::StorageImpl& alias) {
  if (alias.data() == nullptr) return;
  auto* const to = static_cast<char*>(source_.mutable_data());
  const auto* const from = static_cast<const char*>(alias.data());
  for (const byte_range& bytes : written_) {
    core::copy_bytes(to + bytes.begin, source_.device(), from + (bytes.begin - begin_),
                     c10::Device(c10::kCPU), bytes.end - bytes.begin, /*non_blocking=*/true);
  }
}

// The new memory may be smaller or larger than the storage: only what fits in both is fetched.
void stage::complete(c10::StorageImpl& alias) {
  if (begin_ != 0) {
    const size_t size = begin_ + alias.nbytes();
    c10::DataPtr whole = alias.allocator()->allocate(size);
    if (alias.nbytes() != 0) {
      std::memcpy(static_cast<char*>(whole.get()) + begin_, alias.data(), alias.nbytes());
    }
    alias.set_data_ptr_noswap(std::move(whole));
    alias.set_nbytes(size);
  }
  byte_ranges known = fetched_;
  for (const byte_range& bytes : written_) known.add(bytes);
  fetch(alias.mutable_data(), 0, known.others(std::min(source_.nbytes(), alias.nbytes())));
  core::drain(source_.device().index());
}

// `first` has the byte at `offset` in the storage.
void stage::fetch(void* first, size_t offset, const byte_ranges& bytes) {
  if (first == nullptr || source_.data() == nullptr) return;
  const auto* const from = static_cast<const char*>(source_.data());
  for (const byte_range& range : bytes) {
    core::copy_bytes(static_cast<char*>(first) + (range.begin - offset), c10::Device(c10::kCPU),
                     from + range.begin, source_.device(), range.end - range.begin,
                     /*non_blocking=*/true);
  }
}

}  // namespace outback::ops
