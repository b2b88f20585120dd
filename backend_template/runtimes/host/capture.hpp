// A capture: the work that streams enqueue between graphs.begin and graphs.end, kept instead of
// run. stream_capture.cpp fills the capture, and graph.hpp runs the recording that it leaves.
//
// Each stream in a capture is a lane. For each piece of work the capture stores the progress of
// every lane that the work must wait for: the work may run once all lanes have made that progress.
// A stream learns about the progress of other lanes through events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backend_template/runtimes/activity_log.hpp"
#include "backend_template/runtimes/host/randomness.hpp"

namespace outback::host {

class stream;

/// The number of known steps of each lane; the index is the lane. Lanes beyond the end of the
/// vector have made no step. A lane's first step is to join the capture, and each piece of work is
/// one more step.
using progress = std::vector<uint64_t>;

/// The work of a finished capture, which can run again and again. Not safe for two threads while
/// one calls `add`; the two `run` functions only read.
class recording {
 public:
  /// Appends a piece of work of `lane`, which may run after `needs`.
  void add(std::size_t lane, progress needs, std::function<void()> work, const work_note& note);

  /// Runs all pieces on the calling thread, in the order in which they were enqueued. `place` says
  /// where their records go.
  void run(const record_place& place = {}) const;
  /// Runs all pieces on the calling thread, in an order that `choice` picks among the orders that
  /// the lanes and their events allow.
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

/// The work of one capture, and the streams that take part. May be used from any thread. The
/// streams hold the capture by shared_ptr, and the capture holds the streams by weak_ptr, so that a
/// stream can be destroyed during a capture.
///
/// If a function throws, it throws outback::invalid_argument and changes nothing.
class capture {
 public:
  /// The place in a capture where an event was recorded: the capture, and the progress that the
  /// lane had seen.
  struct place {
    std::shared_ptr<capture> of;
    progress seen;
  };
  /// The result of `end`. Each stream stays in the capture until it is told to leave.
  struct result {
    recording work;
    std::string problem;  // why there can be no graph; "" if all is well
    std::vector<std::weak_ptr<stream>> streams;
  };

  /// Adds a lane for `who` that starts with `seen`, the progress of an event, and returns the
  /// lane's index. The stream that began the capture is lane 0. Throws if the capture is broken or
  /// over.
  std::size_t join(std::weak_ptr<stream> who, const progress& seen);
  /// Makes the lane's later work wait for `seen`, the progress of an event. Throws if the capture
  /// is broken or over.
  void wait(std::size_t lane, const progress& seen);
  /// Keeps `work` as the next step of the lane. Throws if the capture is broken or over.
  void record(std::size_t lane, std::function<void()> work, const work_note& note);
  /// Returns the progress that the lane has seen so far, its own steps included. Throws if the
  /// capture is broken or over.
  progress seen_by(std::size_t lane) const;

  /// Breaks the capture: `end` will report `why`. If the capture is broken already, keeps the first
  /// reason.
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
