#include "tests/fakes/cudart/block.hpp"

#include <utility>

namespace fake_cuda {
namespace {

constexpr std::size_t most_remembered = 1024;

}  // namespace

void block_table::add(block_ptr added) {
  // What was freed there is history.
  auto old = freed_.lower_bound(added->begin);
  while (old != freed_.end() && old->first < added->begin + added->size) old = freed_.erase(old);
  const uintptr_t begin = added->begin;
  blocks_.emplace(begin, std::move(added));
}

void block_table::remove(const block& removed) {
  if (!removed.on_host()) {
    freed_.emplace(removed.begin, removed.size);
    if (freed_.size() > most_remembered) freed_.erase(freed_.begin());
  }
  blocks_.erase(removed.begin);
}

block_ptr block_table::find(uintptr_t address) const {
  auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return nullptr;
  const block_ptr& found = std::prev(after)->second;
  return address - found->begin < found->size ? found : nullptr;
}

block_ptr block_table::beginning_at(uintptr_t address) const {
  const auto found = blocks_.find(address);
  return found == blocks_.end() ? nullptr : found->second;
}

block_ptr block_table::meeting(uintptr_t begin, std::size_t size) const {
  if (block_ptr first = find(begin)) return first;
  const auto next = blocks_.lower_bound(begin);
  return next != blocks_.end() && next->first - begin < size ? next->second : nullptr;
}

std::optional<uintptr_t> block_table::freed(uintptr_t address) const {
  auto after = freed_.upper_bound(address);
  if (after == freed_.begin()) return std::nullopt;
  const auto& [begin, size] = *std::prev(after);
  return address - begin < size ? std::optional(begin) : std::nullopt;
}

}  // namespace fake_cuda
