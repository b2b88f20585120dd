// What a program's operations have been ordered by: whether the next one is legal, what it would
// race with, and which answers of the runtime are certain.
//
// The rules are those of outback/runtime.h and no others: work on a stream runs in its order, a
// wait comes after what the event stood for, and the host knows what a sync told it. A vector clock
// for each stream and one for the host say what comes after what.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/runtime/suite/programs/program.hpp"

namespace outback::suite {

class order {
 public:
  explicit order(const machine& on);

  /// Whether `o` makes sense at all: its objects are there, of the right device, and big enough,
  /// and nothing is read that was never written. It may still race.
  bool possible(const operation& o) const;
  /// The streams whose work `o`, which is possible, has not been ordered after.
  std::vector<int32_t> races(const operation& o) const;
  bool legal(const operation& o) const { return possible(o) && races(o).empty(); }
  /// `o` must be legal.
  void apply(const operation& o);

  /// A query that comes next has to answer that all is done.
  bool surely_ready(const operation& query) const;
  /// The first event of an event_elapsed that comes next was reached before the second.
  bool surely_forward(const operation& elapsed) const;

  // ---- What there is to choose from. The index is the number in an operation.

  using clock = std::vector<uint32_t>;  // for each stream, how much of its work came before
  struct stream_state {
    int32_t device = 0;
    bool alive = false;
    bool drained = true;  // the runtime said so, and nothing was enqueued since
    clock seen;
  };
  struct event_state {
    int32_t device = 0;
    bool alive = false, timed = false, recorded = false;
    clock seen;
  };
  struct access {
    int32_t stream;
    uint32_t index;  // of the work in its stream
    std::size_t begin, end;
    bool writes;
  };
  struct buffer_state {
    int32_t place = 0;
    std::size_t size = 0;
    bool alive = false;
    bool written = false;          // all of it
    std::vector<access> accesses;  // those of streams that the host does not know to be done
  };
  const std::vector<stream_state>& streams() const { return streams_; }
  const std::vector<event_state>& events() const { return events_; }
  const std::vector<buffer_state>& buffers() const { return buffers_; }

  /// `o` is enqueued on a stream, and not done by the host.
  static bool enqueues(action what);

 private:
  struct use {  // of a range of a buffer, by an operation
    int32_t buffer;
    std::size_t begin, end;
    bool writes, by_host;
  };
  std::vector<use> uses(const operation& o) const;
  bool has_stream(int32_t stream) const;
  bool has_event(int32_t event) const;
  bool has_range(int32_t buffer, std::size_t offset, std::size_t size) const;
  bool may_copy(const operation& o) const;
  bool host_knows(const clock& seen) const;
  void host_learns(const clock& seen);

  machine on_;
  std::vector<stream_state> streams_;
  std::vector<event_state> events_;
  std::vector<buffer_state> buffers_;
  clock host_;
};

}  // namespace outback::suite
