#include "backend_template/distributed/checks.h"

#include <c10/util/Exception.h>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/runtime/runtime.h"

namespace outback::distributed {
namespace {

bool is_bitwise(const c10d::ReduceOp& reduction) {
  const auto kind = reduction.op_;
  return kind == c10d::ReduceOp::BAND || kind == c10d::ReduceOp::BOR ||
         kind == c10d::ReduceOp::BXOR;
}

int64_t rows_of(const at::Tensor& tensor) {
  return tensor.dim() == 0 ? 1 : tensor.size(0);
}

}  // namespace

const char* name_of(const c10d::ReduceOp& reduction) {
  switch (reduction.op_) {
    case c10d::ReduceOp::SUM:
      return "SUM";
    case c10d::ReduceOp::AVG:
      return "AVG";
    case c10d::ReduceOp::PRODUCT:
      return "PRODUCT";
    case c10d::ReduceOp::MIN:
      return "MIN";
    case c10d::ReduceOp::MAX:
      return "MAX";
    case c10d::ReduceOp::BAND:
      return "BAND";
    case c10d::ReduceOp::BOR:
      return "BOR";
    case c10d::ReduceOp::BXOR:
      return "BXOR";
    case c10d::ReduceOp::PREMUL_SUM:
      return "PREMUL_SUM";
    default:
      return "UNUSED";
  }
}

bool are_on_cpu(const operation& what, const std::vector<at::Tensor>& tensors,
                std::optional<c10::Device> bound) {
  TORCH_CHECK_VALUE(!tensors.empty(), what.text(), ": expected at least one tensor");
  for (const at::Tensor& each : tensors)
    TORCH_CHECK_VALUE(each.defined(), what.text(), ": a tensor is undefined");
  const c10::Device first = tensors.front().device();
  for (const at::Tensor& each : tensors) {
    TORCH_CHECK_VALUE(each.device() == first, what.text(), ": the tensors are on ", first, " and ",
                      each.device(), "; all have to be on one device");
  }
  if (first.is_cpu()) return true;
  TORCH_CHECK_VALUE(first.type() == core::device_type, what.text(), ": a tensor is on ", first,
                    "; this group takes tensors of ", core::backend_name(), " and of the CPU");
  TORCH_CHECK_VALUE(!bound || *bound == first, what.text(), ": a tensor is on ", first,
                    ", and the group is bound to ", *bound,
                    " (device_id of init_process_group): move the tensor, or bind the group to ",
                    first);
  return false;
}

void check_layout(const operation& what, const std::vector<at::Tensor>& tensors, layout wanted) {
  for (const at::Tensor& each : tensors) {
    TORCH_CHECK_VALUE(each.layout() == c10::kStrided && !each.is_quantized() && !each.is_nested(),
                      what.text(), ": expected plain tensors, got a ",
                      each.is_quantized() ? "quantized"
                      : each.is_nested()  ? "nested"
                                          : "sparse",
                      " one; send its parts");
    const bool is_dense = each.is_non_overlapping_and_dense();
    const bool fits = wanted == layout::any || (wanted == layout::dense && is_dense) ||
                      (wanted == layout::contiguous && each.is_contiguous());
    TORCH_CHECK_VALUE(fits, what.text(), ": a tensor of shape ", each.sizes(), " and strides ",
                      each.strides(), " is not contiguous, ",
                      is_dense ? "and its rows do not lie one after the other"
                               : "and would be sent with what lies between its elements",
                      "; pass tensor.contiguous()");
  }
}

void check_same_dtype(const operation& what, const std::vector<at::Tensor>& tensors) {
  for (const at::Tensor& each : tensors) {
    TORCH_CHECK_VALUE(each.scalar_type() == tensors.front().scalar_type(), what.text(),
                      ": the tensors have the dtypes ", tensors.front().scalar_type(), " and ",
                      each.scalar_type(), "; all have to have one");
  }
}

void check_pairs(const operation& what, const std::vector<at::Tensor>& outputs,
                 const std::vector<at::Tensor>& inputs) {
  TORCH_CHECK_VALUE(outputs.size() == inputs.size(), what.text(), ": there are ", outputs.size(),
                    " outputs and ", inputs.size(), " inputs; each input has one output");
  for (size_t i = 0; i < outputs.size(); ++i) check_same_dtype(what, {outputs[i], inputs[i]});
}

void check_parts(const operation& what, const at::Tensor& whole, const at::Tensor& part,
                 int count) {
  TORCH_CHECK_VALUE(whole.numel() == count * part.numel(), what.text(), ": a tensor of shape ",
                    whole.sizes(), " has ", whole.numel(), " elements, and ", count, " of shape ",
                    part.sizes(), ", one for each rank, have ", count * part.numel());
}

void check_splits(const operation& what, const at::Tensor& tensor,
                  const std::vector<int64_t>& splits) {
  const int64_t rows = rows_of(tensor);
  if (splits.empty()) {
    TORCH_CHECK_VALUE(rows % what.size == 0, what.text(), ": the ", rows,
                      " rows of a tensor of shape ", tensor.sizes(),
                      " are not as many for each of ", what.size,
                      " ranks; pass input_split_sizes and output_split_sizes");
    return;
  }
  TORCH_CHECK_VALUE(splits.size() == static_cast<size_t>(what.size), what.text(), ": ",
                    splits.size(), " split sizes are given; there is one for each of ", what.size,
                    " ranks");
  int64_t sum = 0;
  for (const int64_t each : splits) {
    TORCH_CHECK_VALUE(each >= 0, what.text(), ": a split size is ", each);
    sum += each;
  }
  TORCH_CHECK_VALUE(sum == rows, what.text(), ": the split sizes are ", sum,
                    " together, and a tensor of shape ", tensor.sizes(), " has ", rows, " rows");
}

void check_rows(const operation& what, const at::Tensor& output, const at::Tensor& input) {
  const int64_t received = rows_of(output), sent = rows_of(input);
  TORCH_CHECK_VALUE(received == 0 || sent == 0 || output.numel() / received == input.numel() / sent,
                    what.text(), ": the rows of the output, of shape ", output.sizes(),
                    ", and of the input, of shape ", input.sizes(), ", differ in size");
}

void check_rank(const operation& what, int64_t rank) {
  TORCH_CHECK_VALUE(rank >= 0 && rank < what.size, what.text(), ": there is no rank ", rank,
                    "; the group has 0 to ", what.size - 1);
}

bool has_dtype(c10::ScalarType dtype) {
  switch (dtype) {
    case c10::ScalarType::Float:
    case c10::ScalarType::Double:
    case c10::ScalarType::Half:
    case c10::ScalarType::BFloat16:
    case c10::ScalarType::Char:
    case c10::ScalarType::Byte:
    case c10::ScalarType::Bool:
    case c10::ScalarType::Int:
    case c10::ScalarType::Long:
      return true;
    default:
      return false;
  }
}

void check_reduction(const operation& what, const c10d::ReduceOp& reduction,
                     c10::ScalarType dtype) {
  const c10d::ReduceOp::RedOpType kind = reduction.op_;
  TORCH_CHECK_VALUE(kind != c10d::ReduceOp::PREMUL_SUM && kind != c10d::ReduceOp::UNUSED,
                    what.text(), ": Gloo, which communicates for ", core::backend_name(),
                    ", has no ReduceOp.", name_of(reduction));
  // Gloo adds the parts of complex numbers, which it takes for others.
  if (c10::isComplexType(dtype) && c10d::isComplexViewAsRealAllowed(reduction)) return;
  TORCH_CHECK_VALUE(
      has_dtype(dtype), what.text(), ": Gloo, which communicates for ", core::backend_name(),
      ", cannot reduce ", dtype, " with ReduceOp.", name_of(reduction),
      "; it reduces float16, bfloat16, float32, float64, bool, uint8, int8, int32 and "
      "int64, and complex numbers with SUM and AVG");
  TORCH_CHECK_VALUE(!is_bitwise(reduction) || c10::isIntegralType(dtype, /*includeBool=*/true),
                    what.text(), ": ReduceOp.", name_of(reduction), " is for integers, not for ",
                    dtype);
  TORCH_CHECK_VALUE(kind != c10d::ReduceOp::AVG || c10::isFloatingType(dtype), what.text(),
                    ": ReduceOp.AVG is for floating-point and complex numbers, not for ", dtype);
}

std::vector<at::Tensor> flat(const std::vector<std::vector<at::Tensor>>& lists) {
  std::vector<at::Tensor> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

std::vector<at::Tensor> joined(std::vector<at::Tensor> first,
                               const std::vector<at::Tensor>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace outback::distributed
