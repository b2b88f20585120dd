// Finds accesses to memory on two streams that are not ordered: torch.<name>._sanitizer. Core
// reports events, waits of the host and freed memory to the race finder. Python
// (_outback/sanitizer.py) reports each operator and its tensors.
//
// A clock says, for each stream, which of its operators are over. Each stream has a clock, the host
// has one, and an event keeps its stream's clock from the recording. Two operators on different
// streams are ordered if the clock of the later one, when it begins, says that the earlier one is
// over. These are the vector clocks of L. Lamport, F. Mattern and C. Fidge, as race detectors have
// used them since E. Pozniansky and A. Schuster, PPoPP 2003.
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

/// For each stream, indexed by the finder's number for it, the last operator that is over.
using race_clock = std::vector<uint64_t>;

/// An earlier operator that need not be over, since the streams are not ordered.
struct race {
  uint64_t earlier;  // its number
  bool earlier_wrote;
  c10::Stream earlier_stream;
};

/// Thread-safe. It calls no Python. Its only call into the runtime is `native_stream_of`, once for
/// each stream and without a lock. All host threads count as one: a wait of one thread counts for
/// all.
class race_finder {
 public:
  /// Returns the driver's own stream, or null if the runtime cannot tell. Streams on one device
  /// with the same driver's stream count as one: a pool stream, and an external stream that was
  /// made from it.
  using native_stream_of = void* (*)(const c10::Stream&);

  explicit race_finder(native_stream_of native) : native_stream_of_(native) {}

  // ---- Operators, by Python

  /// An operator on a stream. Later operators have higher numbers.
  struct running {
    uint64_t number;
    size_t agent;  // the finder's number for the stream
  };

  /// Call it before an operator is enqueued on `stream`. Returns the operator.
  running begin(const c10::Stream& stream);
  /// Notes that the operator reads or writes the tensor's bytes. Returns the earlier operators on
  /// these bytes for which it does not wait.
  std::vector<race> access(running now, const at::TensorBase& tensor, bool writes);
  /// Removes an operator that does not run after all.
  void withdraw(running now);
  /// Does what `access` does, for an access by the host now. Considers only CPU memory that an
  /// operator has accessed.
  std::vector<race> access_by_host(const at::TensorBase& tensor, bool writes);
  /// Returns each use, once, of memory that was then freed and may have been handed out again,
  /// although the stream for which the memory was allocated did not wait for that use.
  std::vector<race> take_freed();
  /// Returns the numbers of the operators with which later ones may still be compared.
  std::set<uint64_t> remembered() const;

  // ---- What orders operators, by core

  /// Returns the clock for an event that is recorded on `stream` now: the operators that are over
  /// once the event is complete.
  std::shared_ptr<const race_clock> record(const c10::Stream& stream);
  /// Notes that all later work on `stream` waits for `recorded`, the clock of an event.
  void wait(const c10::Stream& stream, const race_clock& recorded);
  /// Note that the host has waited: for an event with this clock, for a stream, or for a whole
  /// device.
  void host_wait(const race_clock& recorded);
  void host_wait(const c10::Stream& stream);
  void host_wait(c10::DeviceIndex device);

  // ---- Memory, by the allocator

  /// Notes that the allocator will keep the freed memory until the work that is on `stream` at the
  /// free is over (record_stream).
  void keep_for(const void* data, const c10::Stream& stream);
  /// Notes that memory that was allocated for `stream` is freed, so operators on `stream` may get
  /// it from now on.
  void freed(const void* data, const c10::Stream& stream) noexcept;
  /// Does the same for memory whose stream is not known.
  void freed(const void* data) noexcept;
  /// Notes that memory is handed out for `stream`: perhaps freed memory that was allocated for
  /// `stream` before.
  void allocated(const c10::Stream& stream) noexcept;

 private:
  using stream_key = std::pair<c10::DeviceIndex, c10::StreamId>;
  struct agent {
    c10::Stream stream;
    void* native;  // the driver's stream, or null
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
    std::optional<c10::weak_intrusive_ptr<c10::StorageImpl>> storage;  // always set
    std::vector<past_access> accesses;
  };
  struct freed_use {
    past_access use;
    size_t allocated_for;
  };

  size_t agent_of(const c10::Stream& stream);  // call it without the lock
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
  std::map<uintptr_t, memory> memory_;  // device memory, by the storage's first byte
  std::unordered_map<c10::StorageImpl*, host_memory> host_memory_;
  std::vector<freed_use> freed_;    // until memory is handed out
  std::vector<past_access> found_;  // for take_freed
};

namespace detail {
// The finder is leaked, since threads may be using it when it is switched off.
inline constinit std::atomic<race_finder*> active_race_finder{nullptr};
}  // namespace detail

/// Returns the active finder, or null. Costs one load.
inline race_finder* active_race_finder() noexcept {
  return detail::active_race_finder.load(std::memory_order_acquire);
}

/// Tells the finder that the host has waited for a whole stream or device because the program asked
/// for that. Do not call it for waits of core itself, since with another runtime these may not
/// happen.
template <class Waited>
void note_host_wait(const Waited& stream_or_device) {
  if (race_finder* const finder = active_race_finder()) finder->host_wait(stream_or_device);
}

/// Reads OUTBACK_SANITIZER, a flag. Throws c10::ValueError if it is malformed. Registration calls
/// it.
void read_race_variable();
/// Returns the flag: true if Python should look for races from the start.
bool are_races_wanted() noexcept;

/// Makes `next` the active finder. With null, no finder is active. Leaks the previous finder, since
/// other threads may be using it.
inline void set_race_finder(std::unique_ptr<race_finder> next) {
  detail::active_race_finder.store(next.release(), std::memory_order_release);
}

}  // namespace outback::core
