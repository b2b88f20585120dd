#include "backend_template/distributed/gloo/checks.h"

#include <c10/util/Exception.h>

#include <algorithm>

#include "backend_template/core/runtime/runtime.h"
#include "backend_template/distributed/checks.h"

namespace outback::distributed {
namespace {

bool is_bitwise(const c10d::ReduceOp& reduction) {
  const auto kind = reduction.op_;
  return kind == c10d::ReduceOp::BAND || kind == c10d::ReduceOp::BOR ||
         kind == c10d::ReduceOp::BXOR;
}

void check_gloo_reduction(const operation& what, const c10d::ReduceOp& reduction,
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

// Gloo counts elements: rows may differ in size, if this process sends itself what it receives.
void check_exchange(const collective& wanted) {
  const operation& what = wanted.what;
  const auto own = [&](const at::Tensor& tensor, const std::vector<int64_t>& splits) {
    if (splits.empty()) return tensor.numel() / what.size;
    return splits[what.rank] * (tensor.numel() / std::max<int64_t>(rows_of(tensor), 1));
  };
  const at::Tensor &output = wanted.outputs[0][0], &input = wanted.inputs[0][0];
  const int64_t sent = own(input, wanted.input_splits);
  const int64_t received = own(output, wanted.output_splits);
  TORCH_CHECK_VALUE(sent == received, what.text(), ": this rank would send itself ", sent,
                    " elements of the input, of shape ", input.sizes(), ", and receive ", received,
                    " in the output, of shape ", output.sizes());
}

}  // namespace

void check_for_gloo(const collective& wanted) {
  const operation& what = wanted.what;
  if (what.type == c10d::OpType::_ALLREDUCE_SPARSE) {
    TORCH_CHECK_VALUE(wanted.outputs[0].size() == 1, what.text(), ": expected one tensor");
    TORCH_CHECK_VALUE(*wanted.reduction == c10d::ReduceOp::SUM, what.text(),
                      ": Gloo has ReduceOp.SUM only for sparse tensors");
  }
  if (wanted.reduction) {
    for (const at::Tensor& each : tensors_of(wanted))
      check_gloo_reduction(what, *wanted.reduction, each.scalar_type());
  }
  if (what.type == c10d::OpType::ALLTOALL_BASE) check_exchange(wanted);
}

}  // namespace outback::distributed
