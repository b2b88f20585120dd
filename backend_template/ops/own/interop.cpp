#include "backend_template/ops/own/interop.h"

#include <c10/core/GradMode.h>
#include <c10/util/Exception.h>

#include <utility>

#include "backend_template/core/memory/storage.h"
#include "backend_template/core/memory/twin_memory.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/ops/in_place/alias.h"
#include "backend_template/ops/in_place/twin_target.h"

namespace outback::ops {
namespace {

// `tensor` is on a device whose memory may be shared. torch's engine asserts in a backward pass
// over tensors of its own device while a backend is registered, so no gradient may get there.
void check_may_share(const at::Tensor& tensor) {
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  TORCH_CHECK_VALUE(is_plain(impl) && !impl.key_set().has_any(wrapper_keys),
                    "expected a strided tensor that wraps no other, got ", tensor.toString(),
                    " of layout ", tensor.layout());
  TORCH_CHECK_NOT_IMPLEMENTED(
      !tensor.requires_grad() || !c10::GradMode::is_enabled(),
      "a tensor that requires a gradient cannot share its memory with another device's, since "
      "PyTorch cannot pass the gradient back: detach() it, or share it in the forward and backward "
      "of a torch.autograd.Function");
}

// A new tensor over `storage` that looks like `source` and counts its versions with it.
at::Tensor like(const at::Tensor& source, c10::Storage storage, c10::DispatchKey key) {
  const c10::TensorImpl& from = *source.unsafeGetTensorImpl();
  auto impl = c10::make_intrusive<c10::TensorImpl>(std::move(storage), c10::DispatchKeySet(key),
                                                   from.dtype());
  impl->set_sizes_and_strides(from.sizes(), from.strides(), from.storage_offset());
  at::Tensor result(std::move(impl));
  if (!source.is_inference() && !result.is_inference()) {
    result.unsafeGetTensorImpl()->set_version_counter(from.version_counter());
  }
  result._set_conj(source.is_conj());
  result._set_neg(source.is_neg());
  return result;
}

at::Tensor lend_to_twin(const at::Tensor& ours) {
  const kernel_target& twin = target_of(ours.device().index());
  c10::StorageImpl& storage = *ours.storage().unsafeGetStorageImpl();
  void* const data = storage.mutable_data();
  // With the DataPtr that the twin's allocator knows, which record_stream() asks for.
  c10::Storage theirs = core::twins_storage_of(storage.data_ptr(), storage.nbytes());
  if (theirs && theirs.data() == data) return like(ours, std::move(theirs), twin.key());
  c10::DataPtr memory = own_memory(storage, data, twin.device(ours.device().index()));
  return like(ours, make_alias_storage(twin, storage, std::move(memory)), twin.key());
}

at::Tensor take_from_twin(const at::Tensor& theirs, c10::Device device) {
  const c10::Storage& storage = theirs.storage();
  c10::DataPtr memory = core::share_twin_storage(storage, device);
  return like(theirs, core::make_storage(std::move(memory), storage.nbytes()),
              c10::DispatchKey::PrivateUse1);
}

}  // namespace

at::Tensor as_twin(const at::Tensor& ours, c10::DeviceType type) {
  TORCH_CHECK_VALUE(is_ours(ours), "expected a tensor of ", core::backend_name(), ", got one on ",
                    ours.device());
  const auto twin = core::twin_of(ours.device().index());
  TORCH_CHECK_VALUE(twin && twin->type() == type, ours.device(), " shares no memory with ",
                    c10::DeviceTypeName(type), ", whose kernels do not run on it in place");
  check_may_share(ours);
  return lend_to_twin(ours);
}

at::Tensor from_twin(const at::Tensor& theirs, c10::DeviceType type) {
  TORCH_CHECK_VALUE(theirs.device().type() == type, "expected a tensor of ",
                    c10::DeviceTypeName(type), ", got one on ", theirs.device());
  const auto device = core::device_of_twin(theirs.device());
  TORCH_CHECK_VALUE(device, "no device of ", core::backend_name(), " shares its memory with ",
                    theirs.device());
  check_may_share(theirs);
  return take_from_twin(theirs, *device);
}

}  // namespace outback::ops
