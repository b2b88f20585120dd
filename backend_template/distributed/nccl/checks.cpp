#include "backend_template/distributed/nccl/checks.h"

#include <c10/util/Exception.h>

#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/twin/twin.h"
#include "backend_template/distributed/checks.h"

namespace outback::distributed {
namespace {

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

}  // namespace

c10::Device checked_twin(c10::Device device, const operation* what) {
  const auto twin = core::twin_of(device.index());
  TORCH_CHECK_VALUE(twin.has_value(), what == nullptr ? "" : what->text() + ": ", device,
                    " shares no memory with a device of CUDA's, for which NCCL communicates; "
                    "OUTBACK_TRANSPORT=gloo makes a group over Gloo");
  return *twin;
}

void check_for_nccl(const collective& wanted) {
  const c10d::OpType type = wanted.what.type;
  if (type == c10d::OpType::_ALLREDUCE_SPARSE) {
    refuse_absent(wanted.what, "pass tensor.to_dense()");
  }
  if (type == c10d::OpType::ALLGATHER_COALESCED && wanted.pairs == pairing::none) {
    refuse_absent(wanted.what, "call all_gather for each tensor");
  }
  if (type == c10d::OpType::RECVANYSOURCE) refuse_absent(wanted.what, "name the source");
  if (!wanted.reduction) return;
  for (const at::Tensor& each : tensors_of(wanted))
    check_nccl_reduction(wanted.what, *wanted.reduction, each.scalar_type());
}

bool nccl_has_dtype(c10::ScalarType dtype) {
  switch (dtype) {
    case c10::ScalarType::Float8_e4m3fn:
    case c10::ScalarType::Float8_e5m2:
      return true;
    default:
      return has_dtype(dtype);
  }
}

void refuse_absent(const operation& what, const char* advice) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, what.text(), ": NCCL, which communicates for ",
                              core::backend_name(), ", does not have it; ", advice);
}

void refuse_cpu(const operation& what) {
  TORCH_CHECK_VALUE(false, what.text(), ": the tensors are on the CPU, and NCCL, which ",
                    "communicates for ", core::backend_name(),
                    ", does not take those; name a group for them too: \"cpu:gloo,",
                    core::backend_name(), ":outback\"");
}

}  // namespace outback::distributed
