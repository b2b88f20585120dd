// Allocates memory in whole pages. Device memory of the host runtime is made of it, so that the
// pages of one allocation can later be replaced by a shared file's (ipc_memory.hpp) without
// touching its neighbours.
#pragma once

#include <cstddef>

namespace outback::host {

/// Returns the size of a page in bytes. May be called from any thread; asks the system once.
std::size_t page_size() noexcept;

/// Returns `size` in bytes, rounded up to whole pages. Throws outback::out_of_memory for a size so
/// large that it, and the extra page of `allocate_pages`, cannot be counted in a size_t.
std::size_t whole_pages(std::size_t size);

/// Memory from `allocate_pages`. `bytes` begins a page, and no other allocation uses the
/// `whole_pages(size)` bytes from there on. The owner frees the memory with std::free(block).
struct page_memory {
  void* block;
  void* bytes;
};

/// Allocates at least `size` bytes, with undefined content. Both members are null where the system
/// has no memory left; throws outback::out_of_memory as `whole_pages` does. May be called from any
/// thread.
///
/// The memory comes from malloc rather than mmap, because malloc is faster for every size when it
/// can use freed memory again. In gcc's AddressSanitizer builds the bytes outside of `size` are
/// poisoned.
page_memory allocate_pages(std::size_t size);

}  // namespace outback::host
