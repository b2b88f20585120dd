// Streams and events. Guarded by the machine's lock.
#pragma once

#include <memory>
#include <vector>

#include "tests/fakes/cudart/capture.hpp"
#include "tests/fakes/cudart/cuda_api.hpp"
#include "tests/fakes/cudart/shared_event.hpp"
#include "tests/fakes/cudart/work.hpp"

namespace fake_cuda {

struct stream {
  int device = 0;
  unsigned flags = cudaStreamDefault;
  int priority = 0;
  bool legacy = false;  // the device's legacy default stream
  bool own = true;      // a user made it, and it has a handle
  uint64_t id = 0;
  int number = 0;  // among those of its device, in their order; 0: a default stream
  work_ptr last;   // null: nothing was enqueued
  const char* made_by = "";
  bool kept = false;
  // In a capture: which one, and after which nodes of it the stream goes on.
  std::shared_ptr<capture> captured;
  std::vector<std::size_t> frontier;
  std::vector<cudaGraphNode_t> told_frontier;  // what cudaStreamGetCaptureInfo points to

  bool blocking() const { return (flags & cudaStreamNonBlocking) == 0; }
  bool idle() const { return last == nullptr || last->done; }
};
using stream_ptr = std::shared_ptr<stream>;

struct event {
  int device = 0;
  unsigned flags = cudaEventDefault;
  work_ptr last;  // of its latest record; null: there was none, or it was in a capture
  bool recorded = false;
  const char* made_by = "";
  bool kept = false;
  // Last recorded in a capture: which one, which may be over, and after which nodes.
  bool in_capture = false;
  std::weak_ptr<capture> captured;
  std::vector<std::size_t> frontier;
  // An interprocess event is what the shared page says.
  std::shared_ptr<shared_event> shared;
  bool imported = false;

  bool done() const {
    if (shared != nullptr) return shared->done(shared->recorded());
    return last == nullptr || last->done;
  }
};
using event_ptr = std::shared_ptr<event>;

}  // namespace fake_cuda
