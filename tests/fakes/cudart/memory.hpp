// Memory: who has which, and what a pointer is. All with the machine's lock.
#pragma once

#include <cstddef>

#include "tests/fakes/cudart/machine.hpp"

namespace fake_cuda {

/// A range that work reads or writes.
struct place {
  block_ptr where;   // null: pageable host memory
  std::byte* bytes;  // as the library sees them
  bool on_device() const { return where != nullptr && !where->on_host(); }
  bool pageable() const { return where == nullptr; }
};

/// `size` > 0. Throws where the device has not so much.
block_ptr allocate_device(machine& m, device& on, std::size_t size, const char* made_by);
block_ptr allocate_pinned(machine& m, device& current, std::size_t size, unsigned flags,
                          const char* made_by);
block_ptr add_registration(machine& m, device& current, void* ptr, std::size_t size, unsigned flags,
                           const char* made_by);
/// Takes the block away, and what was behind it back.
void drop(machine& m, const block& gone);

/// What is at [ptr, ptr + size). A range that leaves its block, and device memory that is not
/// allocated, are a misuse; one that begins in pageable memory and ends in pinned memory is
/// refused.
place locate(machine& m, const void* ptr, std::size_t size);
/// Host memory as much as device memory's range must be in one block: throws for pageable memory.
place locate_known(machine& m, const void* ptr, std::size_t size);
/// The block that begins at `ptr`, of one of two kinds, to be freed. Throws where there is none.
block_ptr find_to_free(machine& m, void* ptr, block_kind kind);
/// Waits until no enqueued work uses it, which is a misuse to rely on.
void wait_until_unused(std::unique_lock<std::mutex>& lock, machine& m, const block_ptr& waited,
                       const char* entry_point);

}  // namespace fake_cuda
