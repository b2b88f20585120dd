// outback::is_backend and outback::to_backend of tensors and storages.
#include <ATen/StorageUtils.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/to_ops.h>
#include <c10/util/Exception.h>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/device_index.h"
#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/core/memory/storage.h"
#include "outback/backend.h"

namespace outback {

bool is_backend(const at::Tensor& tensor) noexcept {
  return tensor.unsafeGetTensorImpl()->is_privateuseone();
}

bool is_backend(const c10::Storage& storage) noexcept {
  return storage && storage.device_type() == core::device_type;
}

at::Tensor to_backend(const at::Tensor& tensor, std::optional<c10::DeviceIndex> index,
                      bool non_blocking) {
  TORCH_CHECK_VALUE(tensor.defined(), "expected a tensor, got an undefined one");
  const c10::Device device(core::device_type, core::index_or_current(index));
  // Names all options, as Tensor.to does: torch.jit.trace records missing ones as the defaults, not
  // as the tensor's own. Calls the operator directly, since at::Tensor::to would pack the options
  // into TensorOptions and unpack them again.
  return at::_ops::to_dtype_layout::call(tensor, tensor.scalar_type(), tensor.layout(), device,
                                         /*pin_memory=*/std::nullopt, non_blocking,
                                         /*copy=*/false, /*memory_format=*/std::nullopt);
}

c10::Storage to_backend(const c10::Storage& storage, std::optional<c10::DeviceIndex> index,
                        bool non_blocking) {
  TORCH_CHECK_VALUE(storage, "expected a storage, got none");
  const c10::DeviceIndex target = core::index_or_current(index);
  if (is_backend(storage) && storage.device().index() == target) return storage;
  c10::Storage copy =
      core::make_storage(core::allocate_on(target, storage.nbytes()), storage.nbytes());
  at::storage_copy(copy, storage, non_blocking);
  return copy;
}

}  // namespace outback
