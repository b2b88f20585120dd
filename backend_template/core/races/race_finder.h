// Finds accesses to memory on two streams that nothing orders: torch.<name>._sanitizer. Core tells
// it of events, waits of the host and of memory that is freed, and Python (_outback/sanitizer.py)
// of each operator and its tensors.
//
// A clock says, for each stream, which of its operators are over. A stream has one, an event keeps
// the one that its stream had when it was recorded, and the host has one. Of two operators on
// different streams, the earlier one is over when the later one begins if the later one's clock
// says so. These are the vector clocks of L. Lamport, F. Mattern and C. Fidge, as race detectors
// have used them since E. Pozniansky and A. Schuster, PPoPP 2003.
#pragma once

#include <c10/core/Storage.h>
#include <c10/core/Stream.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend_template/core/races/footprint.h"

namespace outback::core {

/// Of each stream, by the number that the finder gave it, the last operator that is over.
using race_clock = std::vector<uint64_t>;

/// An earlier operator that is not over, as far as anything orders the streams.
struct race {
  uint64_t earlier;  // its number
  bool earlier_wrote;
  c10::Stream earlier_stream;
};

/// Thread-safe. It calls no Python, and no slot of the runtime's but for
/// `native_stream_of`, once for each stream and without a lock. The host counts as one thread:
/// what one thread of it has waited for, the others have too.
class race_finder {
 public:
  /// Returns the driver's own stream, or null if there is none to be had. Streams on one device
  /// that have the same are one: the pool's, and an external stream that was made of it.
  using native_stream_of = void* (*)(const c10::Stream&);

  explicit race_finder(native_stream_of native) : native_stream_of_(native) {}

  // ---- Operators, by Python

  /// An operator on a stream. The numbers grow.
  struct running {
    uint64_t number;
    size_t agent;  // which stream, as the finder counts them
  };

  /// Of an operator that is about to be enqueued on `stream`.
  running begin(const c10::Stream& stream);
  /// The operator reads or writes the tensor's bytes. Returns the earlier ones that it does not
  /// wait for.
  std::vector<race> access(running now, const at::TensorBase& tensor, bool writes);
  /// The operator does not run after all.
  void withdraw(running now);
  /// Does what `access` does, for the host, now. Only of bytes of the CPU's that an operator has
  /// accessed.
  std::vector<race> access_by_host(const at::TensorBase& tensor, bool writes);
  /// Returns what used memory that was freed since, and may have been handed out again, although
  /// nothing ordered the stream that it was allocated for behind that use. Each once.
  std::vector<race> take_freed();
  /// Returns the numbers of the operators that later ones may still be compared with.
  std::set<uint64_t> remembered() const;

  // ---- What orders them, by core

  /// Returns what is over when an event that is recorded on `stream` now is complete.
  std::shared_ptr<const race_clock> record(const c10::Stream& stream);
  /// All that comes on `stream` from now on waits for `recorded`.
  void wait(const c10::Stream& stream, const race_clock& recorded);
  /// The host has waited.
  void host_wait(const race_clock& recorded);
  void host_wait(const c10::Stream& stream);
  void host_wait(c10::DeviceIndex device);

  // ---- Memory, by the allocator

  /// The memory stays until what is on `stream` when it is freed is over.
  void keep_for(const void* data, const c10::Stream& stream);
  /// It was allocated for `stream`, and may be handed out to operators on it from now on.
  void freed(const void* data, const c10::Stream& stream) noexcept;
  /// The same of memory of which nothing else is known.
  void freed(const void* data) noexcept;
  /// Memory is handed out for that stream: perhaps what was allocated for it before, and is freed.
  void allocated(const c10::Stream& stream) noexcept;

 private:
  using stream_key = std::pair<c10::DeviceIndex, c10::StreamId>;
  struct agent {
    c10::Stream stream;
    void* native;  // of the driver; null if there is none to be had
    race_clock known;
  };
  struct past_access {
    footprint bytes;
    bool wrote;
    size_t agent;
    uint64_t number;
  };
  struct memory {
    std::vector<past_access> accesses;
    std::set<size_t> kept_for;
  };
  struct host_memory {
    std::optional<c10::weak_intrusive_ptr<c10::StorageImpl>> storage;  // given
    std::vector<past_access> accesses;
  };
  struct freed_use {
    past_access use;
    size_t allocated_for;
  };

  size_t agent_of(const c10::Stream& stream);  // without the lock
  bool is_over(const past_access& earlier, const race_clock& known) const;
  race race_with(const past_access& earlier) const;
  std::vector<past_access>& accesses_of(const at::TensorBase& tensor);
  std::vector<race> races_with(const std::vector<past_access>& earlier, const footprint& bytes,
                               bool writes, const race_clock& known, uint64_t number) const;
  void forget(const void* data, const c10::Stream* allocated_for);
  bool is_freed_use_over(const freed_use& freed) const;

  const native_stream_of native_stream_of_;
  mutable std::mutex mutex_;
  uint64_t last_ = 0;
  std::map<stream_key, size_t> numbers_;
  std::vector<agent> agents_;
  race_clock host_;
  std::map<uintptr_t, memory> memory_;  // of the device, by the storage's first byte
  std::unordered_map<c10::StorageImpl*, host_memory> host_memory_;
  std::vector<freed_use> freed_;    // until memory is handed out
  std::vector<past_access> found_;  // for take_freed
};

namespace detail {
// Leaked, since threads may be in it when it is switched off.
inline constinit std::atomic<race_finder*> active_race_finder{nullptr};
}  // namespace detail

/// Returns the finder, or null while nobody looks for races. Costs one load.
inline race_finder* active_race_finder() noexcept {
  return detail::active_race_finder.load(std::memory_order_acquire);
}

/// Tells the finder that the host has waited for all of a stream, or of a device, because the
/// program asked for that. Waits of core's own do not count: another runtime has no need of them.
template <class Waited>
void note_host_wait(const Waited& stream_or_device) {
  if (race_finder* const finder = active_race_finder()) finder->host_wait(stream_or_device);
}

/// Reads OUTBACK_SANITIZER, a flag. Throws c10::ValueError if it is malformed. Registration calls
/// it.
void read_race_variable();
/// Returns the flag: whether Python is to look for races from the start.
bool are_races_wanted() noexcept;

/// Sets the finder that is active from now on, or none. The one before is leaked: other threads may
/// be in it.
inline void set_race_finder(std::unique_ptr<race_finder> next) {
  detail::active_race_finder.store(next.release(), std::memory_order_release);
}

}  // namespace outback::core
