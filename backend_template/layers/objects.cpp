#include "backend_template/layers/objects.hpp"

#include <algorithm>
#include <compare>
#include <iterator>
#include <limits>
#include <mutex>
#include <vector>

#include "backend_template/layers/text.hpp"
#include "outback/detail/slots.hpp"
#include "outback/runtime.h"

namespace outback::layers {
namespace {

// How many freed blocks, and as many ended handles, are remembered. At that number all of them are
// forgotten at once: simple, and a message that is less exact is all that is lost.
constexpr std::size_t most_remembered = std::size_t{1} << 16;

uintptr_t address_of(const void* ptr) {
  return reinterpret_cast<uintptr_t>(ptr);
}

std::string count_of(std::size_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

}  // namespace

std::string memory_text(int32_t device, origin from) {
  if (from == origin::registered) return "registered host memory";
  if (device == OUTBACK_HOST) return "pinned host memory";
  return (from == origin::opened ? "memory of another process, opened on device "
                                 : "an allocation of device ") +
         std::to_string(device);
}

std::string block_text(const block& given) {
  return memory_text(given.device, given.from) + ", " + bytes_text(given.size) + " from " +
         address_text(given.begin) + " on (object " + std::to_string(given.number) + ")";
}

std::string bytes_text(std::size_t size) {
  return count_of(size, "byte");
}

// The block that contains `address` is the last one that begins at or before it, if any: blocks of
// one device do not overlap.
std::optional<block> objects::find_in(const blocks& where, uintptr_t address, int32_t device) {
  const auto next = where.upper_bound({device, address});
  if (next == where.begin()) return std::nullopt;
  const block& before = std::prev(next)->second;
  if (before.device != device) return std::nullopt;
  if (before.size != 0 && address - before.begin >= before.size) return std::nullopt;
  return before;
}

// A range overlaps a block that contains its beginning, or the next block that begins inside it.
std::optional<block> objects::in_the_way(uintptr_t begin, std::size_t size, int32_t device) const {
  if (const auto around = find_in(blocks_, begin, device)) return around;
  const auto next = blocks_.lower_bound({device, begin});
  if (next != blocks_.end() && next->first.first == device && next->first.second - begin < size) {
    return next->second;
  }
  return std::nullopt;
}

std::optional<block> objects::overlapping(const void* ptr, std::size_t size, int32_t device) const {
  const std::lock_guard lock(mutex_);
  return in_the_way(address_of(ptr), size, device);
}

std::optional<block> objects::add(const void* ptr, std::size_t size, int32_t device, origin from) {
  const std::lock_guard lock(mutex_);
  const block fresh = {address_of(ptr), size, device, last_number_ + 1, from};
  if (const auto there = in_the_way(fresh.begin, size, device)) return there;
  blocks_.emplace(place{device, fresh.begin}, fresh);
  ++last_number_;

  // The driver gave out addresses again: forget the freed blocks that overlap the new one, or a
  // message would call living memory freed.
  auto old = freed_.upper_bound({device, fresh.begin});
  if (find_in(freed_, fresh.begin, device)) --old;
  while (old != freed_.end() && old->first.first == device &&
         (old->first.second <= fresh.begin || old->first.second - fresh.begin < size)) {
    old = freed_.erase(old);
  }
  return std::nullopt;
}

std::optional<block> objects::take(const void* ptr, int32_t device, origin from) {
  const std::lock_guard lock(mutex_);
  blocks& living = from == origin::opened ? opened_ : blocks_;
  const auto found = living.find({device, address_of(ptr)});
  if (found == living.end() || found->second.from != from) return std::nullopt;
  const block taken = found->second;
  if (from != origin::opened) {
    if (freed_.size() >= most_remembered) freed_.clear();
    freed_[found->first] = taken;
  } else if (--found->second.times != 0) {
    return taken;
  } else {
    if (closed_.size() >= most_remembered) closed_.clear();
    closed_.insert(found->first);
  }
  living.erase(found);
  return taken;
}

void objects::put_back(const block& taken) {
  const std::lock_guard lock(mutex_);
  if (taken.from == origin::opened) return open_once(taken);
  blocks_.emplace(place{taken.device, taken.begin}, taken);
  freed_.erase({taken.device, taken.begin});
}

void objects::open(const void* ptr, std::size_t size, int32_t device) {
  const std::lock_guard lock(mutex_);
  open_once({address_of(ptr), size, device, ++last_number_, origin::opened});
}

void objects::open_once(const block& memory) {
  const place where = {memory.device, memory.begin};
  const auto [there, is_first] = opened_.try_emplace(where, memory);
  if (is_first) there->second.times = 0;
  ++there->second.times;
  closed_.erase(where);
}

bool objects::was_closed(const void* ptr, int32_t device) const {
  const std::lock_guard lock(mutex_);
  return closed_.contains({device, address_of(ptr)});
}

std::optional<block> objects::find(const void* ptr, int32_t device) const {
  const std::lock_guard lock(mutex_);
  const auto inside = find_in(blocks_, address_of(ptr), device);
  return inside ? inside : find_in(opened_, address_of(ptr), device);
}

std::optional<block> objects::find_elsewhere(const void* ptr, int32_t device) const {
  const std::lock_guard lock(mutex_);
  // One lookup for each device: upper_bound skips all other blocks of a device.
  for (auto it = blocks_.begin(); it != blocks_.end();) {
    const int32_t there = it->first.first;
    const auto found = there == device ? std::nullopt : find_in(blocks_, address_of(ptr), there);
    if (found) return found;
    it = blocks_.upper_bound({there, std::numeric_limits<uintptr_t>::max()});
  }
  return std::nullopt;
}

std::optional<block> objects::find_freed(const void* ptr, int32_t device) const {
  const std::lock_guard lock(mutex_);
  return find_in(freed_, address_of(ptr), device);
}

std::optional<made_handle> objects::add(std::string_view kind, const void* handle, int32_t device) {
  const std::lock_guard lock(mutex_);
  const made_handle fresh = {address_of(handle), kind, device, last_number_ + 1};
  // A new handle may have the value of one that ended: then it is no longer an ended one.
  const auto [it, added] = handles_.try_emplace({kind, fresh.handle, device}, fresh);
  if (!added) return it->second;
  ++last_number_;
  ended_.erase({kind, fresh.handle});
  return std::nullopt;
}

void objects::lend(std::string_view kind, const void* handle, int32_t device,
                   std::string_view owner_kind, const void* owner) {
  const std::lock_guard lock(mutex_);
  const auto of = handles_.find({owner_kind, address_of(owner), device});
  if (of == handles_.end()) return;  // another thread ended it meanwhile
  made_handle& lent = handles_[{kind, address_of(handle), device}];
  if (lent.owner_number == of->second.number) return;
  lent = {.handle = address_of(handle),
          .kind = kind,
          .device = device,
          .number = ++last_number_,
          .told = kind,
          .owner = address_of(owner),
          .owner_number = of->second.number};
  ended_.erase({kind, lent.handle});
}

void objects::forget_lent(uint64_t owner_number) {
  const std::lock_guard lock(mutex_);
  std::erase_if(handles_, [&](const auto& entry) {
    const made_handle& each = entry.second;
    if (each.owner_number != owner_number) return false;
    if (ended_.size() >= most_remembered) ended_.clear();
    ended_.insert({each.kind, each.handle});
    return true;
  });
}

// The caller holds the lock. The owner's number is compared too, since the owner's address may be
// another module's by now.
bool objects::is_alive(const made_handle& handle) const {
  if (handle.owner_number == 0) return true;
  const auto owner =
      handles_.find({slots::handle_name<outback_module>, handle.owner, handle.device});
  return owner != handles_.end() && owner->second.number == handle.owner_number;
}

void objects::set(std::string_view kind, const void* handle, int32_t device, uint32_t state,
                  std::string_view told) {
  const std::lock_guard lock(mutex_);
  const auto found = handles_.find({kind, address_of(handle), device});
  if (found == handles_.end()) return;  // another thread destroyed it meanwhile
  found->second.state = state;
  found->second.told = told;
}

std::optional<made_handle> objects::take(std::string_view kind, const void* handle,
                                         int32_t device) {
  const std::lock_guard lock(mutex_);
  const auto found = handles_.find({kind, address_of(handle), device});
  if (found == handles_.end()) return std::nullopt;
  if (ended_.size() >= most_remembered) ended_.clear();
  ended_.insert({kind, found->second.handle});
  const made_handle taken = found->second;
  handles_.erase(found);
  return taken;
}

void objects::put_back(const made_handle& taken) {
  const std::lock_guard lock(mutex_);
  handles_.emplace(name{taken.kind, taken.handle, taken.device}, taken);
  ended_.erase({taken.kind, taken.handle});
}

std::optional<made_handle> objects::find(std::string_view kind, const void* handle,
                                         int32_t device) const {
  const std::lock_guard lock(mutex_);
  const auto found = handles_.find({kind, address_of(handle), device});
  if (found == handles_.end() || !is_alive(found->second)) return std::nullopt;
  return found->second;
}

std::optional<made_handle> objects::find_of_any_device(std::string_view kind,
                                                       const void* handle) const {
  const std::lock_guard lock(mutex_);
  // The key is (kind, handle, device): the first entry with the least device is one of this handle,
  // if there is any.
  const auto found =
      handles_.lower_bound({kind, address_of(handle), std::numeric_limits<int32_t>::min()});
  if (found == handles_.end() || found->second.kind != kind ||
      found->second.handle != address_of(handle)) {
    return std::nullopt;
  }
  return found->second;
}

bool objects::was_ended(std::string_view kind, const void* handle) const {
  const std::lock_guard lock(mutex_);
  return ended_.contains({kind, address_of(handle)});
}

std::string objects::report(bool (*lost)(const void* context, int32_t device), const void* context,
                            bool (*kept)(std::string_view kind, uintptr_t handle)) const {
  // Copies all objects under the lock and sorts them afterwards, because `lost` and `kept` take
  // locks of their own.
  constexpr std::size_t most_told = 10;  // of each kind and device
  struct object {
    std::string_view kind;
    int32_t device;
    uint64_t number;
    uintptr_t address;
    std::size_t bytes;             // 0 for a handle
    std::string_view handle_kind;  // "" for memory
    bool is_like(const object& other) const { return kind == other.kind && device == other.device; }
    auto operator<=>(const object&) const = default;
  };
  std::vector<object> left;
  blocks opened;
  {
    const std::lock_guard lock(mutex_);
    opened = opened_;
    for (const auto& [where, b] : blocks_) {
      const bool registered = b.from == origin::registered;
      left.push_back(
          {registered ? "registration" : "allocation", b.device, b.number, b.begin, b.size, {}});
    }
    for (const auto& [which, h] : handles_) {
      if (h.owner_number != 0) continue;  // goes with its owner
      left.push_back({h.told, h.device, h.number, h.handle, 0, h.kind});
    }
  }
  std::erase_if(left, [&](const object& each) {
    return (each.device != OUTBACK_HOST && lost(context, each.device)) ||
           kept(each.handle_kind, each.address);
  });
  std::sort(left.begin(), left.end());

  std::string text;
  for (std::size_t first = 0, end = 0; first < left.size(); first = end) {
    std::size_t bytes = 0;
    std::string told;
    for (; end < left.size() && left[end].is_like(left[first]); ++end) {
      const object& each = left[end];
      bytes += each.bytes;
      if (end - first == most_told) told += "    ...\n";
      if (end - first >= most_told) continue;
      told += "    " + address_text(each.address) +
              (each.bytes != 0 ? ", " + bytes_text(each.bytes) : "") + ", object " +
              std::to_string(each.number) + "\n";
    }
    const auto& [kind, device, number, address, size, handle_kind] = left[first];
    const std::string of = kind != "allocation"     ? place_text(device)
                           : device == OUTBACK_HOST ? "pinned host memory"
                                                    : "memory of device " + std::to_string(device);
    text += "  " + count_of(end - first, kind) + " of " + of +
            (bytes != 0 ? ", " + bytes_text(bytes) : "") + ":\n" + told;
  }
  for (const auto& [where, b] : opened) {
    if (lost(context, b.device)) continue;
    text += "  " + memory_text(b.device, b.from) + " and not closed:\n    " +
            address_text(b.begin) + ", " + (b.size == 0 ? "of unknown size" : bytes_text(b.size)) +
            (b.times == 1 ? "" : ", opened " + std::to_string(b.times) + " times") + ", object " +
            std::to_string(b.number) + "\n";
  }
  return text;
}

}  // namespace outback::layers
