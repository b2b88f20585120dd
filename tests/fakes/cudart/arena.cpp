#include "tests/fakes/cudart/arena.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>

namespace fake_cuda {
namespace {

// So many times the device's memory, that what was freed is not used again soon.
constexpr std::size_t factor = 16;
constexpr std::size_t least = std::size_t{1} << 30, most = std::size_t{64} << 30;
constexpr std::size_t page = 4096;

std::size_t round_up(std::size_t size, std::size_t to) {
  return (size + to - 1) / to * to;
}

}  // namespace

arena::arena(std::size_t capacity)
    : extent_(std::max(std::min(std::max(capacity * factor, least), most),
                       round_up(capacity, page) * 2)) {
  file_ = memfd_create("fake-cuda-device", MFD_CLOEXEC);
  void* begin = MAP_FAILED;
  void* view = MAP_FAILED;
  if (file_ >= 0 && ftruncate(file_, off_t(extent_)) == 0) {
    begin = mmap(nullptr, extent_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    view = mmap(nullptr, extent_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
  }
  if (begin == MAP_FAILED || view == MAP_FAILED) {
    std::perror("fake cuda: no addresses for the memory of a device");
    std::abort();
  }
  begin_ = next_ = reinterpret_cast<uintptr_t>(begin);
  view_ = static_cast<std::byte*>(view);
}

uintptr_t arena::allocate(std::size_t size) {
  // A gap behind each, so that its end is nobody's beginning.
  const std::size_t bytes = round_up(size, alignment) + alignment;
  for (int round = 0; round < 2; ++round) {
    auto after = used_.lower_bound(next_);
    if (after != used_.begin()) {
      const auto before = std::prev(after);
      next_ = std::max(next_, before->first + before->second);
    }
    for (;; ++after) {
      const uintptr_t end = after == used_.end() ? begin_ + extent_ : after->first;
      if (end >= next_ && end - next_ >= bytes) {
        const uintptr_t found = next_;
        used_.emplace(found, bytes);
        next_ += bytes;
        return found;
      }
      if (after == used_.end()) break;
      next_ = after->first + after->second;
    }
    next_ = begin_;
  }
  return 0;
}

void arena::free(uintptr_t begin) {
  const auto found = used_.find(begin);
  // The pages that nobody else has a part of: those at the ends may be shared with neighbours.
  const auto after = std::next(found);
  const std::size_t end_before =
      found == used_.begin() ? 0 : offset(std::prev(found)->first) + std::prev(found)->second;
  const std::size_t begin_after = after == used_.end() ? extent_ : offset(after->first);
  const std::size_t first = std::max(offset(begin) / page * page, round_up(end_before, page));
  const std::size_t last =
      std::min(round_up(offset(begin) + found->second, page), begin_after / page * page);
  if (last > first) {
    fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off_t(first), off_t(last - first));
  }
  used_.erase(found);
}

}  // namespace fake_cuda
