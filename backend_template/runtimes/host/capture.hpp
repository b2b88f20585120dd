// A capture: the work that streams enqueue between graphs.begin and graphs.end, kept instead of
// run. stream_capture.cpp fills it, and graph.hpp runs what is left of it.
//
// Each stream of a capture is a lane. The capture notes for each piece of work how far every lane
// had come when the work was enqueued: the work may run once all of that has run. A stream learns
// of other lanes through events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backend_template/runtimes/host/activity_log.hpp"
#include "backend_template/runtimes/host/randomness.hpp"

namespace outback::host {

class stream;

/// How many steps of each lane are known; the index is the lane. Lanes beyond the end of the vector
/// have made none. A lane's first step is that it joined the capture, and each piece of work is one
/// step more.
using progress = std::vector<uint64_t>;

/// The work of a finished capture, which can run again and again. Not safe for two threads while
/// `add` is called; the two `run` functions only read.
class recording {
 public:
  /// Appends a piece of work of `lane`, which may run after `needs`.
  void add(std::size_t lane, progress needs, std::function<void()> work, const work_note& note);

  /// Runs all pieces on the calling thread, in the order in which they were enqueued. `place` is
  /// where they are recorded, as here below.
  void run(const record_place& place = {}) const;
  /// Runs all pieces on the calling thread, in an order that `choice` picks among those that the
  /// lanes and the events between them allow.
  void run_in_some_order(randomness& choice, const record_place& place = {}) const;

 private:
  struct piece {
    std::size_t lane;
    progress needs;
    std::function<void()> work;
    work_note note;
  };
  std::vector<piece> pieces_;
};

/// The work of one capture, and the streams that take part. May be used from any thread. Its
/// streams hold it by shared_ptr, and it holds them weakly, so that a stream can go during a
/// capture.
///
/// Every function that throws, throws outback::invalid_argument and changes nothing.
class capture {
 public:
  /// A place in a capture at which an event was recorded: the capture, and what the lane had seen.
  struct place {
    std::shared_ptr<capture> of;
    progress seen;
  };
  /// What `end` returns. The streams are in the capture until each of them is told to leave.
  struct result {
    recording work;
    std::string problem;  // why there can be no graph; "" if all is well
    std::vector<std::weak_ptr<stream>> streams;
  };

  /// Adds a lane for `who` that starts out with what an event had seen, and returns its index. The
  /// stream that began the capture is lane 0. Throws if the capture is broken or over.
  std::size_t join(std::weak_ptr<stream> who, const progress& seen);
  /// Makes later work of the lane need all that an event had seen. Throws if the capture is broken
  /// or over.
  void wait(std::size_t lane, const progress& seen);
  /// Keeps `work` as the next step of the lane. Throws if the capture is broken or over.
  void record(std::size_t lane, std::function<void()> work, const work_note& note);
  /// Returns what the lane has seen so far, its own steps included. Throws if the capture is broken
  /// or over.
  progress seen_by(std::size_t lane) const;

  /// Breaks the capture: `end` will report `why`. If the capture is broken already, the first
  /// reason stays.
  void break_off(const std::string& why);
  bool broken() const;

  /// Ends the capture and returns its work. `problem` says why there can be no graph if the capture
  /// is broken or a lane was not joined to lane 0. Throws only if the capture is over already.
  result end();

 private:
  void check_going_on() const;  // the caller holds mutex_

  struct lane {
    std::weak_ptr<stream> who;
    progress seen;
  };

  mutable std::mutex mutex_;
  std::vector<lane> lanes_;
  recording work_;
  std::string problem_;
  bool over_ = false;
};

}  // namespace outback::host
