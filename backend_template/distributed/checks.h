// What is refused before anything is sent. A wrong argument that one process finds while the others
// already communicate would leave them waiting.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include <optional>
#include <vector>

#include "backend_template/distributed/operation.h"

namespace outback::distributed {

/// How the elements of an operation's tensors may lie in memory.
enum class layout {
  any,        // a contiguous copy is sent
  dense,      // in any order without gaps: all processes move them in the order of their memory
  contiguous  // row by row, since rows are divided among the processes
};

/// Returns true if all tensors are the CPU's, and false if they are all on one device of this
/// backend. Throws c10::ValueError (ValueError) for anything else: no tensor at all, two devices,
/// or a device that is not `bound`, that of the group.
bool are_on_cpu(const operation& what, const std::vector<at::Tensor>& tensors,
                std::optional<c10::Device> bound);

/// Throws c10::ValueError for a tensor that the group cannot send as it lies in memory: sparse,
/// quantized, nested, or not as `wanted`.
void check_layout(const operation& what, const std::vector<at::Tensor>& tensors, layout wanted);

/// Throws c10::ValueError if `tensors` do not all have one dtype.
void check_same_dtype(const operation& what, const std::vector<at::Tensor>& tensors);

/// Throws c10::ValueError if there is not one output for each input, of the same dtype.
void check_pairs(const operation& what, const std::vector<at::Tensor>& outputs,
                 const std::vector<at::Tensor>& inputs);

/// Throws c10::ValueError if `whole` does not have as many elements as `count` tensors like `part`.
void check_parts(const operation& what, const at::Tensor& whole, const at::Tensor& part, int count);

/// Throws c10::ValueError if the rows of `tensor` are not what `splits` says, a number of rows for
/// each of the processes, or, if it is empty, are not as many for each.
void check_splits(const operation& what, const at::Tensor& tensor,
                  const std::vector<int64_t>& splits);

/// Throws c10::ValueError if the rows of both, where there are any, have not as many elements.
void check_rows(const operation& what, const at::Tensor& output, const at::Tensor& input);

/// Throws c10::ValueError if the group has no such rank: Gloo would wait for it.
void check_rank(const operation& what, int64_t rank);

/// Throws c10::ValueError if Gloo cannot reduce `dtype` with `reduction`, which it would notice in
/// a thread of its own, when other processes are at it.
void check_reduction(const operation& what, const c10d::ReduceOp& reduction, c10::ScalarType dtype);

/// Returns "SUM" for ReduceOp.SUM.
const char* name_of(const c10d::ReduceOp& reduction);

/// Returns true if Gloo has the dtype. What it only moves is lent as bytes if not.
bool has_dtype(c10::ScalarType dtype);

/// Returns all of a list of lists.
std::vector<at::Tensor> flat(const std::vector<std::vector<at::Tensor>>& lists);

/// Returns both lists as one.
std::vector<at::Tensor> joined(std::vector<at::Tensor> first,
                               const std::vector<at::Tensor>& second);

}  // namespace outback::distributed
