#include "backend_template/distributed/nccl/loans.h"

#include <c10/core/InferenceMode.h>

#include <utility>

#include "backend_template/core/devices/device.h"
#include "backend_template/distributed/nccl/checks.h"
#include "backend_template/ops/in_place/alias.h"
#include "backend_template/ops/in_place/twin_target.h"

namespace outback::distributed {

at::Tensor lend_to_twin(const at::Tensor& tensor, elements as) {
  const c10::InferenceMode plain(false);
  const c10::DeviceIndex index = tensor.device().index();
  const ops::kernel_target& twin = ops::target_of(index);
  const auto bytes = static_cast<int64_t>(tensor.nbytes());
  auto storage = c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), bytes,
      ops::own_memory(*tensor.storage().unsafeGetStorageImpl(), tensor.data_ptr(),
                      twin.device(index)),
      /*allocator=*/nullptr, /*resizable=*/false);
  const bool is_split = as == elements::reduced && tensor.is_complex();
  const caffe2::TypeMeta dtype =
      is_split ? c10::scalarTypeToTypeMeta(c10::toRealValueType(tensor.scalar_type()))
      : as != elements::reduced && !nccl_has_dtype(tensor.scalar_type())
          ? caffe2::TypeMeta::Make<uint8_t>()
          : tensor.dtype();
  auto made = c10::make_intrusive<c10::TensorImpl>(c10::Storage(std::move(storage)),
                                                   c10::DispatchKeySet(twin.key()), dtype);
  const int64_t count = bytes / static_cast<int64_t>(dtype.itemsize());
  if (as == elements::rows && tensor.dim() > 0) {
    const int64_t rows = tensor.size(0);
    made->set_sizes_contiguous({rows, rows == 0 ? 0 : count / rows});
  } else {
    made->set_sizes_contiguous({count});
  }
  return at::Tensor(std::move(made));
}

std::vector<at::Tensor> lend_to_twin(at::TensorList tensors, elements as) {
  std::vector<at::Tensor> lent;
  lent.reserve(tensors.size());
  for (const at::Tensor& each : tensors) lent.push_back(lend_to_twin(each, as));
  return lent;
}

std::vector<std::vector<at::Tensor>> lend_to_twin(const std::vector<std::vector<at::Tensor>>& lists,
                                                  elements as) {
  std::vector<std::vector<at::Tensor>> lent;
  lent.reserve(lists.size());
  for (const auto& each : lists) lent.push_back(lend_to_twin(each, as));
  return lent;
}

c10d::ReduceOp lend_to_twin(const c10d::ReduceOp& reduction) {
  if (reduction.op_ != c10d::ReduceOp::PREMUL_SUM) return reduction;
  const auto* const given =
      dynamic_cast<const c10d::NCCLPreMulSumSupplement*>(reduction.supplement_.get());
  if (given == nullptr || !given->tensor_factor.defined() ||
      given->tensor_factor.device().type() != core::device_type) {
    return reduction;
  }
  c10d::ReduceOp lent = reduction;
  lent.supplement_ = c10::make_intrusive<c10d::NCCLPreMulSumSupplement>(
      lend_to_twin(given->tensor_factor, elements::moved));
  return lent;
}

}  // namespace outback::distributed
