#include "backend_template/distributed/gloo/checks.h"

#include <c10/util/Exception.h>

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

void check_rows(const operation& what, const at::Tensor& output, const at::Tensor& input) {
  const int64_t received = rows_of(output), sent = rows_of(input);
  TORCH_CHECK_VALUE(received == 0 || sent == 0 || output.numel() / received == input.numel() / sent,
                    what.text(), ": the rows of the output, of shape ", output.sizes(),
                    ", and of the input, of shape ", input.sizes(), ", differ in size");
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
  if (what.type == c10d::OpType::ALLTOALL_BASE)
    check_rows(what, wanted.outputs[0][0], wanted.inputs[0][0]);
}

}  // namespace outback::distributed
