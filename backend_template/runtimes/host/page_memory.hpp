// Memory in whole pages, so that what is one allocation's can become shared without its neighbours.
#pragma once

#include <cstddef>

namespace outback::host {

std::size_t page_size() noexcept;

/// `size`, rounded up to whole pages. Throws outback::out_of_memory where there is no such number.
std::size_t whole_pages(std::size_t size);

/// `bytes` begin a page, and the pages to `whole_pages(size)` are nobody else's. Freed with
/// std::free(block).
struct page_memory {
  void* block;
  void* bytes;
};

/// From malloc, whose reuse of freed memory beats mmap's for every size. Null members where the
/// system has no memory left. The address sanitizer is told what lies outside `size`.
page_memory allocate_pages(std::size_t size);

}  // namespace outback::host
