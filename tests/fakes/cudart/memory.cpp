#include "tests/fakes/cudart/memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace fake_cuda {
namespace {

constexpr std::size_t pinned_alignment = 4096;
constexpr int fresh = 0xa5;  // what memory is full of that nobody has written, in adversarial mode

std::size_t rounded_up(std::size_t size, std::size_t to) {
  return (size + to - 1) / to * to;
}

std::size_t host_memory() {
  return std::size_t(sysconf(_SC_PHYS_PAGES)) * std::size_t(sysconf(_SC_PAGE_SIZE));
}

bool of_a_device(const machine& m, uintptr_t address) {
  for (const auto& each : m.devices) {
    if (each->memory != nullptr && each->memory->contains(address)) return true;
  }
  return false;
}

std::string describe(const block& given) {
  return fmt::format("the {} bytes at {:#x} of {}", given.size, given.begin, given.made_by);
}

}  // namespace

block_ptr allocate_device(machine& m, device& on, std::size_t size, const char* made_by) {
  const std::size_t taken = rounded_up(size, arena::alignment);
  if (size > on.described.memory || taken > on.described.memory - on.used) {
    throw failure(cudaErrorMemoryAllocation);
  }
  const uintptr_t begin = on.memory->allocate(size);
  if (begin == 0) throw failure(cudaErrorMemoryAllocation);
  on.used += taken;
  auto made = std::make_shared<block>();
  made->begin = begin;
  made->size = size;
  made->device = on.index;
  made->number = m.next_id++;
  made->ordinal = ++on.allocations;
  made->view = on.memory->view(begin);
  made->made_by = made_by;
  if (m.runs.adversarial()) std::memset(made->view, fresh, size);
  m.blocks.add(made);
  return made;
}

block_ptr allocate_pinned(machine& m, device& current, std::size_t size, unsigned flags,
                          const char* made_by) {
  // Asked for more than there is, sanitizers end the program.
  if (size > host_memory()) throw failure(cudaErrorMemoryAllocation);
  void* const ptr = std::aligned_alloc(pinned_alignment, rounded_up(size, pinned_alignment));
  if (ptr == nullptr) throw failure(cudaErrorMemoryAllocation);
  auto made = std::make_shared<block>();
  made->kind = block_kind::pinned;
  made->begin = reinterpret_cast<uintptr_t>(ptr);
  made->size = size;
  made->device = current.index;
  made->view = static_cast<std::byte*>(ptr);
  made->flags = flags;
  made->made_by = made_by;
  made->ordinal = ++m.pinned_allocations;
  m.blocks.add(made);
  return made;
}

block_ptr add_registration(machine& m, device& current, void* ptr, std::size_t size, unsigned flags,
                           const char* made_by) {
  const auto begin = reinterpret_cast<uintptr_t>(ptr);
  if (of_a_device(m, begin)) {
    throw refusal(cudaErrorInvalidValue, "device memory is not host memory");
  }
  if (const block_ptr met = m.blocks.meeting(begin, size)) {
    throw refusal(cudaErrorHostMemoryAlreadyRegistered, "meets " + describe(*met));
  }
  auto made = std::make_shared<block>();
  made->kind = block_kind::registered;
  made->begin = begin;
  made->size = size;
  made->device = current.index;
  made->view = static_cast<std::byte*>(ptr);
  made->flags = flags;
  made->made_by = made_by;
  made->ordinal = ++m.pinned_allocations;
  m.blocks.add(made);
  return made;
}

void drop(machine& m, const block& gone) {
  const block copy = gone;
  m.blocks.remove(gone);
  switch (copy.kind) {
    case block_kind::device: {
      device& on = *m.devices[std::size_t(copy.device)];
      on.used -= rounded_up(copy.size, arena::alignment);
      on.memory->free(copy.begin);
      break;
    }
    case block_kind::pinned:
      std::free(reinterpret_cast<void*>(copy.begin));
      break;
    case block_kind::registered:
      break;
    case block_kind::imported:
      munmap(copy.mapped_user, copy.mapped);
      munmap(copy.mapped_view, copy.mapped);
      break;
  }
}

place locate(machine& m, const void* ptr, std::size_t size) {
  const auto begin = reinterpret_cast<uintptr_t>(ptr);
  require(ptr != nullptr, "a null pointer");
  if (const block_ptr found = m.blocks.find(begin)) {
    if (!found->holds(begin, size)) {
      throw misuse(cudaErrorInvalidValue,
                   fmt::format("{} bytes at {} leave {}", size, ptr, describe(*found)));
    }
    return {.where = found, .bytes = found->at(begin)};
  }
  if (const auto freed = m.blocks.freed(begin)) {
    throw misuse(cudaErrorInvalidValue,
                 fmt::format("{} is in memory that was freed, at {:#x}", ptr, *freed));
  }
  if (of_a_device(m, begin)) {
    throw misuse(cudaErrorInvalidValue, fmt::format("{} is in no allocation", ptr));
  }
  if (const block_ptr met = m.blocks.meeting(begin, size)) {
    throw refusal(cudaErrorInvalidValue, fmt::format("{} bytes at {} are pageable and, in part, {}",
                                                     size, ptr, describe(*met)));
  }
  return {.where = nullptr, .bytes = static_cast<std::byte*>(const_cast<void*>(ptr))};
}

place locate_known(machine& m, const void* ptr, std::size_t size) {
  place found = locate(m, ptr, size);
  if (found.pageable()) {
    throw refusal(cudaErrorInvalidValue,
                  fmt::format("{} is pageable host memory, which a device cannot write", ptr));
  }
  return found;
}

block_ptr find_to_free(machine& m, void* ptr, block_kind kind) {
  const auto address = reinterpret_cast<uintptr_t>(ptr);
  const block_ptr found = m.blocks.beginning_at(address);
  if (found != nullptr && found->kind == kind) return found;
  const cudaError_t error =
      kind == block_kind::registered ? cudaErrorHostMemoryNotRegistered : cudaErrorInvalidValue;
  std::string text = fmt::format("{} is nothing that this could free", ptr);
  if (found != nullptr)
    text = fmt::format("{} is {}, which this does not free", ptr, describe(*found));
  if (const block_ptr in = m.blocks.find(address); in != nullptr && in != found) {
    text = fmt::format("{} is in the midst of {}", ptr, describe(*in));
  }
  if (m.blocks.freed(address)) text = fmt::format("{} was freed before", ptr);
  throw misuse(error, text);
}

void wait_until_unused(std::unique_lock<std::mutex>& lock, machine& m, const block_ptr& waited,
                       const char* entry_point) {
  if (waited->in_use == 0) return;
  // Whoever lost a device cannot wait for its work: every sync answers at once.
  const bool lost = std::any_of(m.devices.begin(), m.devices.end(),
                                [](const auto& each) { return each->lost != cudaSuccess; });
  if (!lost) {
    m.violations.add_misuse(entry_point, fmt::format("{} are used by {} pieces of enqueued work",
                                                     describe(*waited), waited->in_use));
  }
  m.runs.wait(lock, [&] { return waited->in_use == 0; });
}

}  // namespace fake_cuda
