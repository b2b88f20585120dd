// Memory of other processes that ipc.open_memory opened, as often as it was and not closed.
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

/// May be used from any thread. Apart from `objects`, since it is counted, may have no known size,
/// and is nobody's to free.
class opened_memory {
 public:
  /// Once more. `size` is 0 where it is unknown; `number` is for the first time.
  void open(const void* ptr, std::size_t size, int32_t device, uint64_t number);
  /// Once less; nothing where it is not open.
  std::optional<block> close(const void* ptr, int32_t device);
  /// What `close` answered is open after all.
  void put_back(const block& closed);

  /// The open memory of `device` that `ptr` points into. Of unknown size: all that lies behind it,
  /// up to the next.
  std::optional<block> find(const void* ptr, int32_t device) const;
  /// It was open once, and is closed.
  bool was_closed(const void* ptr, int32_t device) const;

  /// As `objects::report`.
  std::string report(bool (*lost)(const void* context, int32_t device), const void* context) const;

 private:
  using place = std::pair<int32_t, uintptr_t>;  // device, begin
  struct opening {
    block memory;
    std::size_t times = 0;
  };

  mutable fork_mutex mutex_;
  std::map<place, opening> open_;
  std::map<place, uint64_t> closed_;
};

}  // namespace outback::layers
