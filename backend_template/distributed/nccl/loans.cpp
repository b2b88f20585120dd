#include "backend_template/distributed/nccl/loans.h"

#include <utility>

#include "backend_template/core/devices/device.h"
#include "backend_template/distributed/lent_tensor.h"
#include "backend_template/distributed/nccl/checks.h"
#include "backend_template/ops/in_place/alias.h"
#include "backend_template/ops/in_place/twin_target.h"

namespace outback::distributed {
namespace {

at::Tensor lend(const at::Tensor& tensor, form as) {
  const c10::DeviceIndex index = tensor.device().index();
  const ops::kernel_target& twin = ops::target_of(index);
  return lent_tensor(tensor,
                     ops::own_memory(*tensor.storage().unsafeGetStorageImpl(), tensor.data_ptr(),
                                     twin.device(index)),
                     twin.key(), as, nccl_has_dtype(tensor.scalar_type()));
}

tensor_lists lend(const tensor_lists& lists, form as) {
  tensor_lists lent;
  for (const tensors& list : lists) {
    tensors& mine = lent.emplace_back();
    for (const at::Tensor& each : list) mine.push_back(lend(each, as));
  }
  return lent;
}

c10d::ReduceOp lend(const c10d::ReduceOp& reduction) {
  if (reduction.op_ != c10d::ReduceOp::PREMUL_SUM) return reduction;
  const auto* const given =
      dynamic_cast<const c10d::NCCLPreMulSumSupplement*>(reduction.supplement_.get());
  if (given == nullptr || !given->tensor_factor.defined() ||
      given->tensor_factor.device().type() != core::device_type) {
    return reduction;
  }
  c10d::ReduceOp lent = reduction;
  lent.supplement_ = c10::make_intrusive<c10d::NCCLPreMulSumSupplement>(
      lend(given->tensor_factor, {form::elements::moved, form::shape::flat}));
  return lent;
}

}  // namespace

lent_arguments lend_to_twin(const collective& wanted) {
  const form as = form_of(wanted);
  lent_arguments lent{.outputs = lend(wanted.outputs, as), .inputs = lend(wanted.inputs, as)};
  if (wanted.reduction) lent.reduction = lend(*wanted.reduction);
  return lent;
}

}  // namespace outback::distributed
