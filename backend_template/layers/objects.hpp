// Validation's records: the memory, streams, events and graphs that exist because callers got them
// from a table, and, for a while, those that callers have given back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "backend_template/layers/fork_mutex.hpp"

namespace outback::layers {

/// The slot that made a block of memory known. It determines the slot that ends the block.
enum class origin : uint8_t {
  allocated,   // mem_alloc, host_memory.alloc
  registered,  // host_registration.add
  opened,      // ipc.open_memory
};

/// Memory of one device, or pinned memory of the host.
struct block {
  uintptr_t begin;
  std::size_t size;  // in bytes; 0 if unknown, for opened memory only
  int32_t device;    // or OUTBACK_HOST
  uint64_t number;   // counts all objects of the table, from 1; messages say "object 3"
  origin from = origin::allocated;
  std::size_t times = 0;  // how often opened memory must still be closed
};

/// Returns "an allocation of device 1", "pinned host memory", "registered host memory" or "memory
/// of another process, opened on device 1".
std::string memory_text(int32_t device, origin from);
/// Returns `memory_text` of the block, followed by ", 64 bytes from 0x1000 on (object 3)".
std::string block_text(const block& given);
/// Returns "1 byte", "64 bytes".
std::string bytes_text(std::size_t size);

/// A stream, an event, a graph or a module that a slot made, a kernel of a module, or a capture.
/// The handle of a capture is its stream.
struct made_handle {
  uintptr_t handle;
  std::string_view kind;  // `handle_name`, or "capture"
  int32_t device;
  uint64_t number;               // as `block::number`
  uint32_t state = 0;            // an event's flags; 1 for a graph that was instantiated
  std::string_view told = kind;  // the name in `report`
  uintptr_t owner = 0;           // the module of a kernel; 0 for all other handles
  uint64_t owner_number = 0;     // the owner's number
};

/// All objects of one table. Thread-safe: every function takes the one lock and calls no other code
/// under the lock. Remembers objects that were given back for a while, so that a message can tell a
/// second free from a pointer that was never valid. Each device has its own address space, and so
/// has the host.
class objects {
 public:
  /// Adds a block. If a living block of the same device overlaps it, adds nothing and returns that
  /// block.
  std::optional<block> add(const void* ptr, std::size_t size, int32_t device,
                           origin from = origin::allocated);
  /// Returns the block that `add` would return.
  std::optional<block> overlapping(const void* ptr, std::size_t size, int32_t device) const;
  /// Records one more opening of another process's memory. `size` is in bytes, 0 if unknown. Counts
  /// the openings of each memory. Opened memory may overlap other blocks.
  void open(const void* ptr, std::size_t size, int32_t device);

  /// Returns whether memory at `ptr` was opened and then closed as often as it was opened.
  bool was_closed(const void* ptr, int32_t device) const;

  /// Removes and returns the block that begins at `ptr` and has this origin, if there is one.
  /// Opened memory stays until it has been taken as often as it was opened.
  std::optional<block> take(const void* ptr, int32_t device, origin from = origin::allocated);
  /// Undoes `take`, for a block that the runtime refused to free.
  void put_back(const block& taken);

  /// Returns the living block of `device` that contains `ptr`, or else the opened memory that
  /// contains it. Opened memory of unknown size counts as reaching up to the next opened memory.
  std::optional<block> find(const void* ptr, int32_t device) const;
  /// Returns a living block that contains `ptr` and does not belong to `device`, but to another
  /// device or to the host.
  std::optional<block> find_elsewhere(const void* ptr, int32_t device) const;
  /// Returns the block that contained `ptr` until it was freed.
  std::optional<block> find_freed(const void* ptr, int32_t device) const;

  /// Adds a handle. If the handle is alive already, adds nothing and returns its record.
  std::optional<made_handle> add(std::string_view kind, const void* handle, int32_t device);
  /// Adds a handle that belongs to the living handle `owner`, and is alive only as long as `owner`
  /// is. Does nothing if the handle is there already.
  void lend(std::string_view kind, const void* handle, int32_t device, std::string_view owner_kind,
            const void* owner);
  /// Forgets all handles that belonged to the handle with this number, which has ended.
  void forget_lent(uint64_t owner_number);
  /// Sets `state` and `told` of a living handle. `told` must be a constant: it is not copied.
  void set(std::string_view kind, const void* handle, int32_t device, uint32_t state,
           std::string_view told);
  /// Removes and returns a handle, if it is alive.
  std::optional<made_handle> take(std::string_view kind, const void* handle, int32_t device);
  /// Undoes `take` of a handle.
  void put_back(const made_handle& taken);
  /// Returns the record of a handle, if it is alive.
  std::optional<made_handle> find(std::string_view kind, const void* handle, int32_t device) const;
  /// Returns a living handle of this kind and value, whichever device it belongs to.
  std::optional<made_handle> find_of_any_device(std::string_view kind, const void* handle) const;
  /// Returns whether the handle was alive once and is still remembered.
  bool was_ended(std::string_view kind, const void* handle) const;

  /// Returns a text about all living objects: a line for each kind and device, then a line for each
  /// of the first ten objects. "" if there are no objects. Leaves out devices for which
  /// `lost(context, device)` is true, and objects for which `kept` is true (`kind` is "" for
  /// memory). Calls both functions without the lock.
  std::string report(bool (*lost)(const void* context, int32_t device), const void* context,
                     bool (*kept)(std::string_view kind, uintptr_t handle)) const;

 private:
  using place = std::pair<int32_t, uintptr_t>;                    // device, begin
  using name = std::tuple<std::string_view, uintptr_t, int32_t>;  // kind, handle, device
  using blocks = std::map<place, block>;

  // The caller holds the lock for these.
  void open_once(const block& memory);
  bool is_alive(const made_handle& handle) const;
  static std::optional<block> find_in(const blocks& where, uintptr_t address, int32_t device);
  std::optional<block> in_the_way(uintptr_t begin, std::size_t size, int32_t device) const;

  mutable fork_mutex mutex_;
  uint64_t last_number_ = 0;
  blocks blocks_, freed_;   // the living blocks never overlap; nor do the freed blocks
  blocks opened_;           // memory of other processes
  std::set<place> closed_;  // the places of opened memory that was closed
  std::map<name, made_handle> handles_;
  std::set<std::pair<std::string_view, uintptr_t>> ended_;  // kind and handle
};

}  // namespace outback::layers
