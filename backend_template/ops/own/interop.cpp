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

void check_strided(const at::Tensor& tensor) {
  TORCH_CHECK_VALUE(tensor.layout() == c10::kStrided && is_plain(*tensor.unsafeGetTensorImpl()),
                    "expected a dense tensor, got one of layout ", tensor.layout());
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
  c10::DataPtr memory =
      own_memory(storage, storage.mutable_data(), twin.device(ours.device().index()));
  return like(ours, make_alias_storage(twin, storage, std::move(memory)), twin.key());
}

// The storage stays what it is: its memory knows its allocator by its owner.
at::Tensor take_from_twin(const at::Tensor& theirs) {
  c10::StorageImpl& storage = *theirs.storage().unsafeGetStorageImpl();
  void* const data = storage.mutable_data();
  c10::raw::intrusive_ptr::incref(&storage);
  c10::DataPtr memory(
      data, &storage,
      [](void* held) { c10::raw::intrusive_ptr::decref(static_cast<c10::StorageImpl*>(held)); },
      theirs.device());
  c10::DataPtr taken = core::adopt_twin_memory(std::move(memory), storage.nbytes(),
                                               *core::device_of_twin(theirs.device()));
  return like(theirs, core::make_storage(std::move(taken), storage.nbytes()),
              c10::DispatchKey::PrivateUse1);
}

// torch's engine asserts in a backward pass that crosses tensors of its own device while a backend is
// registered (pytorch issue 161129).
void check_no_gradient(const at::Tensor& tensor) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      !tensor.requires_grad() || !c10::GradMode::is_enabled(),
      "a tensor that requires a gradient cannot share its memory with another device's, since "
      "PyTorch cannot pass the gradient back: detach() it first");
}

}  // namespace

at::Tensor as_twin(const at::Tensor& ours) {
  TORCH_CHECK_VALUE(ours.defined() && is_ours(ours), "expected a tensor of ", core::backend_name());
  TORCH_CHECK_VALUE(has_twin(ours), ours.device(),
                    " is not a device of PyTorch's own: it has no memory to share with one");
  check_strided(ours);
  check_no_gradient(ours);
  return lend_to_twin(ours);
}

at::Tensor from_twin(const at::Tensor& theirs) {
  TORCH_CHECK_VALUE(theirs.defined() && core::device_of_twin(theirs.device()),
                    "expected a tensor of PyTorch's own device for one of ", core::backend_name());
  check_strided(theirs);
  check_no_gradient(theirs);
  return take_from_twin(theirs);
}

}  // namespace outback::ops
