// One operation of a communicator: what it sends, what it receives, and what it writes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tests/fakes/nccl/communicator.hpp"

namespace fake_nccl {

enum class kind {
  all_reduce,
  reduce,
  broadcast,
  all_gather,
  reduce_scatter,
  all_to_all,
  gather,
  scatter,
  send,
  receive
};

/// A plain value. `count` is that of the call: elements of a rank's part for those that divide.
struct operation {
  kind what;
  const void* from;  // device memory; null if this rank sends nothing
  void* to;          // device memory; null if it writes nothing
  std::size_t count;
  dtype of;
  reduction how = sum;
  multiplied_sum factor = {};  // if `how` is not built in
  int peer = 0;                // or root

  /// "ncclAllReduce(1024 float32 sum)", for the record and for those that wait for it.
  std::string text() const;
};

/// Runs all of them at once, as a group of NCCL's does, on a thread that may wait. Null memory of
/// device `to` is not written. Failures are the communicator's.
void run(communicator& on, const std::vector<operation>& all);

}  // namespace fake_nccl
