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

/// How memory came to be known, which says how it goes.
enum class origin : uint8_t {
  allocated,   // mem_alloc, host_memory.alloc
  registered,  // host_registration.add
  opened,      // ipc.open_memory
};

/// Memory of one device, or pinned memory of the host.
struct block {
  uintptr_t begin;
  std::size_t size;
  int32_t device;   // or OUTBACK_HOST
  uint64_t number;  // of all that was handed out, from 1
  origin from = origin::allocated;
};

/// "an allocation of device 1", "pinned host memory", "registered host memory", "memory of another
/// process, opened on device 1".
std::string memory_text(int32_t device, origin from);
/// The same, then ", 64 bytes from 0x1000 on (object 3)".
std::string block_text(const block& given);
/// "1 byte", "64 bytes".
std::string bytes_text(std::size_t size);

struct made_handle {
  uintptr_t handle;
  std::string_view kind;  // `handle_name`
  int32_t device;
  uint64_t number;
  uint32_t state = 0;            // whatever the slots of this kind have to know of it
  std::string_view told = kind;  // what `report` calls it
};

/// May be used from any thread. What was given back is remembered for a while, to tell a second
/// time from nonsense. Every device has addresses of its own.
class objects {
 public:
  /// Answers what is in the way: a block that is alive and overlaps. Then nothing is added.
  std::optional<block> add(const void* ptr, std::size_t size, int32_t device,
                           origin from = origin::allocated);
  /// What would be in the way of `add`.
  std::optional<block> overlapping(const void* ptr, std::size_t size, int32_t device) const;
  /// Removes the block that begins at `ptr` and came so, if there is one.
  std::optional<block> take(const void* ptr, int32_t device, origin from = origin::allocated);
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
  /// What is known of a living handle from now on.
  void set(std::string_view kind, const void* handle, int32_t device, uint32_t state,
           std::string_view told);
  std::optional<made_handle> take(std::string_view kind, const void* handle, int32_t device);
  void put_back(const made_handle& taken);
  std::optional<made_handle> find(std::string_view kind, const void* handle, int32_t device) const;
  std::optional<made_handle> find_of_any_device(std::string_view kind, const void* handle) const;
  /// It was alive once.
  bool was_ended(std::string_view kind, const void* handle) const;

  /// A number for what is kept elsewhere.
  uint64_t next_number();

  /// What there is, except of devices for which `lost` holds and handles of a kind for which `kept`
  /// does: a line for each kind and device, and one for each of the first objects. "" if there is
  /// nothing.
  std::string report(bool (*lost)(const void* context, int32_t device), const void* context,
                     bool (*kept)(std::string_view kind, uintptr_t handle)) const;

 private:
  using place = std::pair<int32_t, uintptr_t>;                    // device, begin
  using name = std::tuple<std::string_view, uintptr_t, int32_t>;  // kind, handle, device
  using blocks = std::map<place, block>;

  static std::optional<block> find_in(const blocks& where, uintptr_t address, int32_t device);
  std::optional<block> in_the_way(uintptr_t begin, std::size_t size, int32_t device) const;

  mutable fork_mutex mutex_;
  uint64_t last_number_ = 0;
  blocks blocks_, freed_;
  std::map<name, made_handle> handles_;
  std::map<std::pair<std::string_view, uintptr_t>, uint64_t> ended_;
};

}  // namespace outback::layers
