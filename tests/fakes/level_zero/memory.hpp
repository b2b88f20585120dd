// What is allocated, and what a range of bytes that a command names is.
#pragma once

#include <level_zero/ze_api.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "tests/fakes/level_zero/arena.hpp"
#include "tests/fakes/level_zero/context.hpp"
#include "tests/fakes/level_zero/device.hpp"

namespace outback::software_ze {

inline constexpr std::size_t device_page = 65536;  // device memory is given, and counted, in these
inline constexpr std::size_t host_page = 4096;

/// Its addresses are given back when the last command that names it is done, even if it was freed
/// before.
class allocation {
 public:
  /// `room`: `size` in whole pages, which the caller has reserved where it counts.
  allocation(arena& from, std::byte* base, std::size_t size, std::size_t room,
             ze_memory_type_t type, std::shared_ptr<context> of, std::shared_ptr<device> on,
             bool imported);
  ~allocation();
  allocation(const allocation&) = delete;
  allocation& operator=(const allocation&) = delete;

  arena& from;
  std::byte* const base;
  const std::size_t size, room;
  const ze_memory_type_t type;
  const std::shared_ptr<context> of;
  const std::shared_ptr<device> on;  // null: host memory
  const bool imported;               // of another process
  const uint64_t id;
  const membership member{*of};

  std::atomic<int64_t> uses{0};  // by commands that are not done
  std::mutex ipc_mutex;
  int ipc_file = -1;               // what zeMemGetIpcHandle answered; guarded by ipc_mutex
  std::atomic<bool> freed{false};  // and only held by commands, or by lists that recorded them
};

/// Bytes that a command reads or writes.
struct span {
  std::byte* bytes;                  // where the driver finds them
  std::shared_ptr<allocation> held;  // null: memory of the system
};

/// Allocations by address. May be used from any thread.
class allocations {
 public:
  void add(std::shared_ptr<allocation> given);
  /// The one that `pointer` points into, or null.
  std::shared_ptr<allocation> find(const void* pointer) const;
  /// Forgets the one that begins at `base`, which is `of`'s and imported or not. Anything else is a
  /// violation.
  std::shared_ptr<allocation> take(const void* base, const context& of, bool imported);
  /// The `size` bytes at `pointer`, used by `user` in a command of `of`. A range that is not whole
  /// in one allocation, another context's or out of the device's reach is a violation.
  span resolve(const void* pointer, std::size_t size, device& user, const context& of) const;

  std::vector<std::shared_ptr<allocation>> all() const;

 private:
  mutable std::shared_mutex mutex_;
  std::map<const std::byte*, std::shared_ptr<allocation>> by_base_;
};

}  // namespace outback::software_ze
