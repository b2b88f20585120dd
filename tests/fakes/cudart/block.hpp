// A piece of memory that CUDA knows: allocated, pinned, registered, or opened from another process.
// Guarded by the machine's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>

namespace fake_cuda {

enum class block_kind { device, pinned, registered, imported };

struct block {
  block_kind kind = block_kind::device;
  uintptr_t begin = 0;  // as the user sees it
  std::size_t size = 0;
  int device = 0;             // whose memory it is; of host memory, the one current at its making
  std::byte* view = nullptr;  // where the library reads and writes it
  unsigned flags = 0;         // of cudaHostAlloc or cudaHostRegister
  int in_use = 0;             // by enqueued work
  const char* made_by = "";
  int ordinal = 0;    // among the allocations of its device; of host memory, among all of its kind
  bool kept = false;  // meant to stay for ever
  uint64_t number = 0;  // of the allocation, for those who import it
  // Of imported memory: which allocation of which process it is, on which device it was opened, how
  // often, and what is mapped.
  uint64_t import_of = 0;
  int import_process = 0;
  int opened_on = 0;
  int opened = 0;
  std::size_t mapped = 0;
  void *mapped_user = nullptr, *mapped_view = nullptr;

  bool on_host() const { return kind == block_kind::pinned || kind == block_kind::registered; }
  bool holds(uintptr_t address, std::size_t bytes) const {
    return address >= begin && address - begin <= size && size - (address - begin) >= bytes;
  }
  std::byte* at(uintptr_t address) const { return view + (address - begin); }
};
using block_ptr = std::shared_ptr<block>;

/// The blocks of a process, by address.
class block_table {
 public:
  void add(block_ptr added);
  void remove(const block& removed);
  /// The block that holds `address`, or null. The end of a block is not in it.
  block_ptr find(uintptr_t address) const;
  block_ptr beginning_at(uintptr_t address) const;
  /// Any block that meets [begin, begin + size).
  block_ptr meeting(uintptr_t begin, std::size_t size) const;
  /// The block that `address` was in, if it was freed not long ago: where it began.
  std::optional<uintptr_t> freed(uintptr_t address) const;
  const std::map<uintptr_t, block_ptr>& all() const { return blocks_; }

 private:
  std::map<uintptr_t, block_ptr> blocks_;
  std::map<uintptr_t, std::size_t> freed_;  // of device memory; bounded
};

}  // namespace fake_cuda
