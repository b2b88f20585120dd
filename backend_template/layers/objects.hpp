// What a table handed out and has not got back: memory, streams, events and handles to come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "backend_template/layers/fork_mutex.hpp"

namespace outback::layers {

/// Memory of one device, or pinned memory of the host.
struct block {
  uintptr_t begin;
  std::size_t size;
  int32_t device;   // or OUTBACK_HOST
  uint64_t number;  // of all that was handed out, from 1
};

struct made_handle {
  uintptr_t handle;
  std::string_view kind;  // `handle_name`
  int32_t device;
  uint64_t number;
};

/// May be used from any thread. What was given back is remembered for a while, to tell a second
/// time from nonsense. Every device has addresses of its own.
class objects {
 public:
  /// Answers what is in the way: a block that is alive and overlaps. Then nothing is added.
  std::optional<block> add(const void* ptr, std::size_t size, int32_t device);
  /// Removes the block that begins at `ptr`, if that is what it does.
  std::optional<block> take(const void* ptr, int32_t device);
  /// A block that was taken and is alive after all.
  void put_back(const block& taken);

  /// The living block of `device` that `ptr` points into.
  std::optional<block> find(const void* ptr, int32_t device) const;
  /// The same of whichever place there is, other than `device`.
  std::optional<block> find_elsewhere(const void* ptr, int32_t device) const;
  /// The block that `ptr` pointed into until it was freed.
  std::optional<block> find_freed(const void* ptr, int32_t device) const;

  /// Answers the same handle if it is alive already. Then nothing is added.
  std::optional<made_handle> add(std::string_view kind, const void* handle, int32_t device);
  std::optional<made_handle> take(std::string_view kind, const void* handle, int32_t device);
  void put_back(const made_handle& taken);
  std::optional<made_handle> find(std::string_view kind, const void* handle, int32_t device) const;
  std::optional<made_handle> find_of_any_device(std::string_view kind, const void* handle) const;
  /// It was alive once.
  bool was_ended(std::string_view kind, const void* handle) const;

  /// What there is, except of devices for which `lost` holds: a line for each kind and device, and
  /// one for each of the first objects. "" if there is nothing.
  std::string report(bool (*lost)(const void* context, int32_t device), const void* context) const;

 private:
  using place = std::pair<int32_t, uintptr_t>;                    // device, begin
  using name = std::tuple<std::string_view, uintptr_t, int32_t>;  // kind, handle, device
  using blocks = std::map<place, block>;

  static std::optional<block> find_in(const blocks& where, uintptr_t address, int32_t device);

  mutable fork_mutex mutex_;
  uint64_t last_number_ = 0;
  blocks blocks_, freed_;
  std::map<name, made_handle> handles_;
  std::map<std::pair<std::string_view, uintptr_t>, uint64_t> ended_;
};

}  // namespace outback::layers
