// An operation of a process group on its tensors, as the group hands it to its transport.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <functional>
#include <optional>
#include <vector>

#include "backend_template/distributed/operation.h"

namespace outback::distributed {

using work = c10::intrusive_ptr<c10d::Work>;
using tensors = std::vector<at::Tensor>;
using tensor_lists = std::vector<tensors>;

/// What an operation does with a tensor.
enum class use { read, written, both };

/// How the elements of an operation's tensors may lie in memory.
enum class layout {
  dense,       // in any order without gaps: all processes move them in memory order
  contiguous,  // row by row, since rows are divided among the processes
  sparse
};

/// Whether each input has exactly one output (not with `none`), and which of the two has a part for
/// each process.
enum class pairing {
  none,
  gathered,  // the output
  divided    // the input
};

/// The arguments for a c10d::Backend of torch that serves as transport. The tensors are of its own
/// device type: they share the memory of this device's tensors, or are copies of them.
struct lent_arguments {
  tensor_lists outputs = {}, inputs = {};
  c10d::ReduceOp reduction = {};
  std::optional<c10::Device> device = {};  // for a barrier
};

/// A plain value. Most members have initializers, so that each operation names only the members
/// that it needs.
struct collective {
  operation what;             // what.type is the kind of operation
  tensor_lists outputs = {};  // for the result: one list, or several if torch's result has several
  tensor_lists inputs = {};   // only read
  use of_outputs = use::written;
  layout lies = layout::contiguous;
  pairing pairs = pairing::none;
  std::optional<c10d::ReduceOp> reduction = {};
  std::optional<int64_t> rank = {};  // the root, or the process at the other end
  std::vector<int64_t> output_splits = {},
                       input_splits = {};  // for all_to_all_single: rows for each process
  /// Calls the same operation of a c10d::Backend of torch. May be called later, by another thread.
  std::function<work(c10d::Backend& of, lent_arguments& with)> call = {};
};

}  // namespace outback::distributed
