// A device that the process sees, and its primary context. Guarded by the machine's lock.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "tests/fakes/cudart/arena.hpp"
#include "tests/fakes/cudart/devices.hpp"
#include "tests/fakes/cudart/stream.hpp"

namespace fake_cuda {

struct device {
  int index = 0;
  device_description described;
  std::unique_ptr<arena> memory;  // made with the first context
  std::size_t used = 0;
  int allocations = 0, streams = 0;  // that were ever made
  cudaError_t lost = cudaSuccess;    // else what every call answers

  // The primary context: there while somebody retains it. The runtime does so once.
  int retained = 0;
  bool runtime_retains = false;
  unsigned flags = 0;
  bool active() const { return retained > 0; }

  std::set<int> peers;         // whose memory it may access
  std::set<uint64_t> pending;  // numbers of work that is not done
  stream_ptr legacy;
  std::vector<std::weak_ptr<stream>> of_threads;  // cudaStreamPerThread's
  // The last work of blocking streams that were destroyed: the legacy stream waits for that, too.
  std::vector<work_ptr> orphans;
};

}  // namespace fake_cuda
