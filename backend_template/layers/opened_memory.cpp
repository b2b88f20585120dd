#include "backend_template/layers/opened_memory.hpp"

#include <iterator>
#include <mutex>

#include "backend_template/layers/text.hpp"

namespace outback::layers {
namespace {

// How many closings are remembered. At that number all of them are forgotten at once.
constexpr std::size_t most_closed_remembered = std::size_t{1} << 16;

}  // namespace

void opened_memory::open(const void* ptr, std::size_t size, int32_t device, uint64_t number) {
  const std::lock_guard lock(mutex_);
  const place where = {device, reinterpret_cast<uintptr_t>(ptr)};
  const block fresh = {where.second, size, device, number, origin::opened};
  ++open_.try_emplace(where, opening{fresh}).first->second.times;
  closed_.erase(where);
}

std::optional<block> opened_memory::close(const void* ptr, int32_t device) {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find({device, reinterpret_cast<uintptr_t>(ptr)});
  if (found == open_.end()) return std::nullopt;
  const block closed = found->second.memory;
  if (--found->second.times == 0) {
    if (closed_.size() >= most_closed_remembered) closed_.clear();
    closed_[found->first] = closed.number;
    open_.erase(found);
  }
  return closed;
}

void opened_memory::put_back(const block& closed) {
  const std::lock_guard lock(mutex_);
  const place where = {closed.device, closed.begin};
  ++open_.try_emplace(where, opening{closed}).first->second.times;
  closed_.erase(where);
}

std::optional<block> opened_memory::find(const void* ptr, int32_t device) const {
  const std::lock_guard lock(mutex_);
  const auto address = reinterpret_cast<uintptr_t>(ptr);
  // The last memory that begins at or before the address. Without a known size it may reach that
  // far.
  const auto next = open_.upper_bound({device, address});
  if (next == open_.begin()) return std::nullopt;
  const block& before = std::prev(next)->second.memory;
  if (before.device != device) return std::nullopt;
  if (before.size != 0 && address - before.begin >= before.size) return std::nullopt;
  return before;
}

bool opened_memory::was_closed(const void* ptr, int32_t device) const {
  const std::lock_guard lock(mutex_);
  return closed_.contains({device, reinterpret_cast<uintptr_t>(ptr)});
}

std::string opened_memory::report(bool (*lost)(const void* context, int32_t device),
                                  const void* context) const {
  // A copy, because `lost` takes a lock of its own.
  std::map<place, opening> left;
  {
    const std::lock_guard lock(mutex_);
    left = open_;
  }
  std::string text;
  for (const auto& [where, each] : left) {
    const block& b = each.memory;
    if (lost(context, b.device)) continue;
    text += "  " + memory_text(b.device, b.from) + " and not closed:\n    " +
            address_text(b.begin) + ", " + (b.size == 0 ? "of unknown size" : bytes_text(b.size)) +
            (each.times == 1 ? "" : ", opened " + std::to_string(each.times) + " times") +
            ", object " + std::to_string(b.number) + "\n";
  }
  return text;
}

}  // namespace outback::layers
