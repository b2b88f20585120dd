#include "backend_template/distributed/nccl/checks.h"

#include <c10/util/Exception.h>

#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/twin/twin.h"

namespace outback::distributed {

void check_on_twin(const operation& what, const std::vector<at::Tensor>& tensors, layout wanted,
                   std::optional<c10::Device> bound) {
  TORCH_CHECK_VALUE(!are_on_cpu(what, tensors, bound), what.text(),
                    ": the tensors are on the CPU, and NCCL, which communicates for ",
                    core::backend_name(),
                    ", does not take those; name a group for them too: ", "\"cpu:gloo,",
                    core::backend_name(), ":outback\"");
  const c10::Device device = tensors.front().device();
  TORCH_CHECK_VALUE(core::twin_of(device.index()).has_value(), what.text(), ": ", device,
                    " shares no memory with a device of CUDA's, for which NCCL communicates; ",
                    "OUTBACK_TRANSPORT=gloo makes a group over Gloo");
  check_layout(what, tensors, wanted);
}

bool nccl_has_dtype(c10::ScalarType dtype) {
  switch (dtype) {
    case c10::ScalarType::Float8_e4m3fn:
    case c10::ScalarType::Float8_e5m2:
      return true;
    default:
      return has_dtype(dtype);  // Gloo's and NCCL's are the same ones otherwise
  }
}

void check_nccl_reduction(const operation& what, const c10d::ReduceOp& reduction,
                          c10::ScalarType dtype) {
  const c10d::ReduceOp::RedOpType kind = reduction.op_;
  TORCH_CHECK_VALUE(kind <= c10d::ReduceOp::MAX || kind == c10d::ReduceOp::PREMUL_SUM, what.text(),
                    ": NCCL, which communicates for ", core::backend_name(), ", has no ReduceOp.",
                    name_of(reduction));
  if (c10::isComplexType(dtype) && c10d::isComplexViewAsRealAllowed(reduction)) return;
  TORCH_CHECK_VALUE(nccl_has_dtype(dtype), what.text(), ": NCCL, which communicates for ",
                    core::backend_name(), ", cannot reduce ", dtype, " with ReduceOp.",
                    name_of(reduction),
                    "; it reduces float8, float16, bfloat16, float32, float64, bool, uint8, int8, "
                    "int32 and int64, and complex numbers with SUM and AVG");
  const bool is_of_truths = kind <= c10d::ReduceOp::MAX && kind != c10d::ReduceOp::AVG;
  TORCH_CHECK_VALUE(dtype != c10::ScalarType::Bool || is_of_truths, what.text(), ": ReduceOp.",
                    name_of(reduction), " is for numbers, not for ", dtype);
}

void refuse_absent(const operation& what, const char* advice) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, what.text(), ": NCCL, which communicates for ",
                              core::backend_name(), ", does not have it; ", advice);
}

}  // namespace outback::distributed
