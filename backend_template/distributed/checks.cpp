#include "backend_template/distributed/checks.h"

#include <c10/util/Exception.h>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/runtime/runtime.h"

namespace outback::distributed {
namespace {

void check_same_dtype(const operation& what, const tensors& all) {
  for (const at::Tensor& each : all) {
    TORCH_CHECK_VALUE(each.scalar_type() == all.front().scalar_type(), what.text(),
                      ": the tensors have the dtypes ", all.front().scalar_type(), " and ",
                      each.scalar_type(), "; all have to have one");
  }
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

void check_rank(const operation& what, int64_t rank) {
  TORCH_CHECK_VALUE(rank >= 0 && rank < what.size, what.text(), ": there is no rank ", rank,
                    "; the group has 0 to ", what.size - 1);
}

}  // namespace

c10::Device checked_device(const collective& wanted, std::optional<c10::Device> bound) {
  const operation& what = wanted.what;
  const tensors all = tensors_of(wanted);
  TORCH_CHECK_VALUE(!all.empty(), what.text(), ": expected at least one tensor");
  for (const at::Tensor& each : all)
    TORCH_CHECK_VALUE(each.defined(), what.text(), ": a tensor is undefined");
  const c10::Device first = all.front().device();
  for (const at::Tensor& each : all) {
    TORCH_CHECK_VALUE(each.device() == first, what.text(), ": the tensors are on ", first, " and ",
                      each.device(), "; all have to be on one device");
  }
  if (first.is_cpu()) return first;
  TORCH_CHECK_VALUE(first.type() == core::device_type, what.text(), ": a tensor is on ", first,
                    "; this group takes tensors of ", core::backend_name(), " and of the CPU");
  TORCH_CHECK_VALUE(!bound || *bound == first, what.text(), ": a tensor is on ", first,
                    ", and the group is bound to ", *bound,
                    " (device_id of init_process_group): move the tensor, or bind the group to ",
                    first);
  return first;
}

void check_layout(const operation& what, const tensors& all, layout wanted) {
  for (const at::Tensor& each : all) {
    if (wanted == layout::sparse) {
      TORCH_CHECK_VALUE(each.is_sparse(), what.text(),
                        ": expected a tensor of the layout torch.sparse_coo");
      continue;
    }
    TORCH_CHECK_VALUE(each.layout() == c10::kStrided && !each.is_quantized() && !each.is_nested(),
                      what.text(), ": expected plain tensors, got a ",
                      each.is_quantized() ? "quantized"
                      : each.is_nested()  ? "nested"
                                          : "sparse",
                      " one; send its parts");
    const bool is_dense = each.is_non_overlapping_and_dense();
    const bool fits = wanted == layout::dense ? is_dense : each.is_contiguous();
    TORCH_CHECK_VALUE(fits, what.text(), ": a tensor of shape ", each.sizes(), " and strides ",
                      each.strides(), " is not contiguous, ",
                      is_dense ? "and its rows do not lie one after the other"
                               : "and would be sent with what lies between its elements",
                      "; pass tensor.contiguous()");
  }
}

void check_parts(const operation& what, const at::Tensor& whole, const at::Tensor& part,
                 int count) {
  TORCH_CHECK_VALUE(whole.numel() == count * part.numel(), what.text(), ": a tensor of shape ",
                    whole.sizes(), " has ", whole.numel(), " elements, and ", count, " of shape ",
                    part.sizes(), ", one for each rank, have ", count * part.numel());
}

namespace {

void check_pairs(const collective& wanted) {
  const operation& what = wanted.what;
  const tensors &outputs = wanted.outputs[0], &inputs = wanted.inputs[0];
  TORCH_CHECK_VALUE(outputs.size() == inputs.size(), what.text(), ": there are ", outputs.size(),
                    " outputs and ", inputs.size(), " inputs; each input has one output");
  for (size_t i = 0; i < outputs.size(); ++i) {
    check_same_dtype(what, {outputs[i], inputs[i]});
    const bool is_gathered = wanted.pairs == pairing::gathered;
    check_parts(what, is_gathered ? outputs[i] : inputs[i], is_gathered ? inputs[i] : outputs[i],
                what.size);
  }
}

}  // namespace

void check(const collective& wanted) {
  const operation& what = wanted.what;
  const tensors all = tensors_of(wanted);
  check_layout(what, all, wanted.lies);
  if (wanted.pairs == pairing::none) {
    check_same_dtype(what, all);
  } else {
    check_pairs(wanted);
  }
  if (wanted.rank) check_rank(what, *wanted.rank);
  if (what.type == c10d::OpType::ALLTOALL_BASE) {
    check_splits(what, wanted.outputs[0][0], wanted.output_splits);
    check_splits(what, wanted.inputs[0][0], wanted.input_splits);
  }
}

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

tensors tensors_of(const collective& wanted) {
  tensors all;
  for (const tensor_lists* lists : {&wanted.outputs, &wanted.inputs}) {
    for (const tensors& each : *lists) all.insert(all.end(), each.begin(), each.end());
  }
  return all;
}

int64_t rows_of(const at::Tensor& tensor) {
  return tensor.dim() == 0 ? 1 : tensor.size(0);
}

}  // namespace outback::distributed
