// Allocates memory in whole pages. Device memory of the host runtime is made of it, so that the
// pages of one allocation can later be replaced by a shared file's (ipc_memory.hpp) without
// touching its neighbours.
#pragma once

#include <cstddef>

#include "backend_template/runtimes/pages.hpp"

namespace outback::host {

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
