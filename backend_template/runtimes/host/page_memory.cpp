#include "backend_template/runtimes/host/page_memory.hpp"

#include <cstdint>
#include <cstdlib>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#elif !defined(ASAN_POISON_MEMORY_REGION)
#define ASAN_POISON_MEMORY_REGION(begin, size) static_cast<void>(0)
#endif

namespace outback::host {

page_memory allocate_pages(std::size_t size) {
  // One page more than needed lets the pages begin inside of the block. aligned_alloc would save
  // that page, but takes longer than the page costs, and twice as long for sizes that malloc maps.
  const std::size_t whole = whole_pages(size) + page_size();
  void* const block = std::malloc(whole);
  if (block == nullptr) return {};
  const auto begin = reinterpret_cast<uintptr_t>(block);
  const std::size_t lead = (page_size() - begin % page_size()) % page_size();
  auto* const bytes = static_cast<std::byte*>(block) + lead;
  ASAN_POISON_MEMORY_REGION(block, lead);
  ASAN_POISON_MEMORY_REGION(bytes + size, whole - lead - size);
  return {.block = block, .bytes = bytes};
}

}  // namespace outback::host
