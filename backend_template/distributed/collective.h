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
  dense,       // in any order without gaps: all processes move them in the order of their memory
  contiguous,  // row by row, since rows are divided among the processes
  sparse
};

/// Whether each input has one output, and which of the two has a part for each process.
enum class pairing {
  none,
  gathered,  // the output
  divided    // the input
};

/// The arguments of a c10d::Backend of torch's that is a transport: tensors that it takes for its
/// own, over the memory of the device's, or copies of them.
struct lent_arguments {
  tensor_lists outputs = {}, inputs = {};
  c10d::ReduceOp reduction = {};
  std::optional<c10::Device> device = {};  // of a barrier
};

/// A plain value. Every member has an initializer, so that an operation names those that it has.
struct collective {
  operation what;             // what.type says which one
  tensor_lists outputs = {};  // hold the result: a list, or several if torch's result has several
  tensor_lists inputs = {};   // are read
  use of_outputs = use::written;
  layout lies = layout::contiguous;
  pairing pairs = pairing::none;
  std::optional<c10d::ReduceOp> reduction = {};
  std::optional<int64_t> rank = {};  // the root, or the process at the other end
  std::vector<int64_t> output_splits = {},
                       input_splits = {};  // of all_to_all_single: rows for each process
  /// The same operation of a transport of torch's. May be called later, by another thread.
  std::function<work(c10d::Backend& of, lent_arguments& with)> call = {};
};

}  // namespace outback::distributed
