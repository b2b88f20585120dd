#include "tests/fakes/level_zero/arena.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>
#include <system_error>

namespace outback::software_ze {
namespace {

// Freed addresses that rest before they are used again: enough to notice a stale pointer, few
// enough for sanitizers, which keep shadow memory for every address that was ever used.
constexpr std::size_t most_resting = 32;

void* map(void* at, std::size_t size, int protection, int flags, int file, uint64_t offset) {
  void* mapped = ::mmap(at, size, protection, flags, file, static_cast<off_t>(offset));
  if (mapped == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  return mapped;
}

}  // namespace

arena::arena(std::size_t size, bool guarded) : size_(size), guarded_(guarded) {
  file_ = ::memfd_create("outback_ze", MFD_CLOEXEC);
  if (file_ < 0 || ::ftruncate(file_, static_cast<off_t>(size)) != 0) {
    throw std::system_error(errno, std::generic_category(), "memfd_create");
  }
  const int none = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, shared = MAP_SHARED | MAP_NORESERVE;
  void* reserved = map(nullptr, size + greatest_alignment, PROT_NONE, none, -1, 0);
  const auto rest = reinterpret_cast<uintptr_t>(reserved) % greatest_alignment;
  addresses_ = static_cast<std::byte*>(reserved) + (rest ? greatest_alignment - rest : 0);
  if (guarded) {
    bytes_ = static_cast<std::byte*>(map(nullptr, size, PROT_READ | PROT_WRITE, shared, file_, 0));
  } else {
    map(addresses_, size, PROT_NONE, shared | MAP_FIXED, file_, 0);
    bytes_ = addresses_;
  }
  free_.emplace(0, size);
}

std::byte* arena::take(std::size_t size, std::size_t alignment) {
  // A page between allocations, so that running over an end faults, for the host and for copies
  // alike.
  const uint64_t room = size + granule;
  std::unique_lock lock(mutex_);
  for (int attempt = 0; attempt < 2; ++attempt) {
    for (auto found = free_.begin(); found != free_.end(); ++found) {
      const auto [begin, length] = *found;
      const uint64_t place = (begin + alignment - 1) & ~(uint64_t{alignment} - 1);
      if (place - begin > length || length - (place - begin) < room) continue;
      free_.erase(found);
      if (place > begin) free_.emplace(begin, place - begin);
      if (place + room < begin + length) free_.emplace(place + room, begin + length - place - room);
      lock.unlock();
      if (!guarded_) ::mprotect(addresses_ + place, size, PROT_READ | PROT_WRITE);
      return addresses_ + place;
    }
    // Only now are the resting addresses needed.
    for (const auto& [offset, length] : resting_) recycle(offset, length);
    resting_.clear();
  }
  return nullptr;
}

void arena::give(std::byte* base, std::size_t size) noexcept {
  const uint64_t place = offset(base);
  ::fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(place),
              static_cast<off_t>(size));
  if (!guarded_) ::mprotect(base, size, PROT_NONE);
  rest(place, size);
}

void arena::rest(uint64_t offset, uint64_t size) noexcept {
  const std::lock_guard lock(mutex_);
  resting_.emplace_back(offset, size + granule);
  if (resting_.size() > most_resting) {
    recycle(resting_.front().first, resting_.front().second);
    resting_.pop_front();
  }
}

bool arena::map_foreign(std::byte* base, std::size_t size, int file, uint64_t offset) {
  return ::mmap(bytes(base), size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
                static_cast<off_t>(offset)) != MAP_FAILED;
}

void arena::give_foreign(std::byte* base, std::size_t size) noexcept {
  const int protection = guarded_ ? PROT_READ | PROT_WRITE : PROT_NONE;
  ::mmap(bytes(base), size, protection, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file_,
         static_cast<off_t>(offset(base)));
  rest(offset(base), size);
}

void arena::recycle(uint64_t offset, uint64_t size) {
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && offset + size == next->first) {
    size += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += size;
      return;
    }
  }
  free_.emplace(offset, size);
}

}  // namespace outback::software_ze
