// The records of validation about memory of other processes: what ipc.open_memory opened, and how
// many times it must still be closed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "backend_template/layers/fork_mutex.hpp"
#include "backend_template/layers/objects.hpp"

namespace outback::layers {

/// Thread-safe. It is not a part of `objects`, because opened memory is counted, may have an
/// unknown size, and cannot be freed.
class opened_memory {
 public:
  /// Records one more opening. `size` is in bytes, 0 if unknown. `number` is the object's number if
  /// it is the first opening, and ignored otherwise.
  void open(const void* ptr, std::size_t size, int32_t device, uint64_t number);
  /// Records one closing and returns the memory; nullopt if it is not open. `ptr` is its beginning.
  std::optional<block> close(const void* ptr, int32_t device);
  /// Undoes `close`, with what it returned: the runtime refused to close the memory.
  void put_back(const block& closed);

  /// Returns the open memory of `device` that contains `ptr`. Memory of unknown size counts as
  /// reaching up to the next opened memory.
  std::optional<block> find(const void* ptr, int32_t device) const;
  /// Returns whether memory that began at `ptr` was open once and is closed.
  bool was_closed(const void* ptr, int32_t device) const;

  /// Returns a text about all memory that is still open, as `objects::report` does.
  std::string report(bool (*lost)(const void* context, int32_t device), const void* context) const;

 private:
  using place = std::pair<int32_t, uintptr_t>;  // device, begin
  struct opening {
    block memory;
    std::size_t times = 0;
  };

  mutable fork_mutex mutex_;
  std::map<place, opening> open_;
  std::map<place, uint64_t> closed_;  // what was closed; its number
};

}  // namespace outback::layers
