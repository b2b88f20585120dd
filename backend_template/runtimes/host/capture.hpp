// A capture: what streams enqueue from its begin to its end, kept instead of run.
//
// Each stream of a capture is a lane. How far its lanes have come says what precedes what: a piece
// of work needs all that its lane had seen when it was enqueued, of its own and, through events, of
// the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backend_template/runtimes/host/randomness.hpp"

namespace outback::host {

class stream;

/// Steps of each lane; a lane that is beyond the end has made none. The first step of a lane is
/// that it joined, each further one is a piece of work.
using progress = std::vector<uint64_t>;

/// What a capture leaves: work that can run again and again.
class recording {
 public:
  void add(std::size_t lane, progress needs, std::function<void()> work);

  /// In the order in which it was enqueued.
  void run() const;
  /// In any order that the events between the lanes allow.
  void run_in_some_order(randomness& choice) const;

 private:
  struct piece {
    std::size_t lane;
    progress needs;
    std::function<void()> work;
  };
  std::vector<piece> pieces_;
};

/// May be used from any thread; its streams hold it, and it does not hold them. A function that
/// throws outback::invalid_argument says why; the capture is broken then.
class capture {
 public:
  /// A recording of an event in a capture.
  struct place {
    std::shared_ptr<capture> of;
    progress seen;
  };
  /// What `end` leaves. The streams of a capture are in it until each was told to leave.
  struct result {
    recording work;
    std::string problem;  // why there can be no graph; "" if there can
    std::vector<std::weak_ptr<stream>> streams;
  };

  /// Adds a lane, which has seen what the event had. Throws if the capture is broken or over.
  std::size_t join(std::weak_ptr<stream> who, const progress& seen);
  /// The lane goes on when what the event had seen is done. Throws likewise.
  void wait(std::size_t lane, const progress& seen);
  /// Throws likewise.
  void record(std::size_t lane, std::function<void()> work);
  /// What the lane has seen. Throws likewise.
  progress seen_by(std::size_t lane) const;

  /// The first reason stays.
  void break_off(const std::string& why);
  bool broken() const;

  /// Throws only if it is over already.
  result end();

 private:
  void check_going_on() const;  // mutex_ is held

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
