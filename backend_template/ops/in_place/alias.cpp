#include "backend_template/ops/in_place/alias.h"

#include <ATen/EmptyTensor.h>

#include <utility>

#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/ops/in_place/spare_aliases.h"
#include "backend_template/ops/tensors/tensor_fields.h"

namespace outback::ops {
namespace {

// The keys of a tensor that its alias keeps. Autograd's are among them: a tensor without them is an
// inference tensor, and a kernel cannot make a nested tensor of such a one.
constexpr c10::DispatchKeySet kept_keys{
    c10::DispatchKey::Conjugate, c10::DispatchKey::Negative, c10::DispatchKey::ZeroTensor,
    c10::DispatchKey::ADInplaceOrView, c10::DispatchKey::AutogradFunctionality};

}  // namespace

c10::DataPtr own_memory(c10::StorageImpl& source, void* data, c10::Device device) {
  if (data == nullptr) return {nullptr, device};
  c10::DataPtr owner = core::share_memory(source.data_ptr(), device);
  if (C10_LIKELY(owner.get() == data)) return owner;
  c10::raw::intrusive_ptr::incref(&source);
  return {data, &source,
          [](void* held) { c10::raw::intrusive_ptr::decref(static_cast<c10::StorageImpl*>(held)); },
          device};
}

c10::Storage make_alias_storage(const kernel_target& target, const c10::StorageImpl& source,
                                c10::DataPtr&& memory) {
  auto alias = take_spare_storage();
  if (C10_UNLIKELY(alias == nullptr)) {
    return c10::make_intrusive<c10::StorageImpl>(
        c10::StorageImpl::use_byte_size_t(), static_cast<int64_t>(source.nbytes()),
        std::move(memory), target.allocator(), source.resizable());
  }
  alias->set_data_ptr_noswap(std::move(memory));
  alias->set_nbytes(source.nbytes());
  alias->set_allocator(target.allocator());
  alias->set_resizable(source.resizable());
  return c10::Storage(std::move(alias));
}

at::Tensor make_alias_tensor(const kernel_target& target, const at::Tensor& source,
                             c10::Storage storage) {
  const c10::TensorImpl& from = *source.unsafeGetTensorImpl();
  const c10::Device device = storage.device();
  const c10::DispatchKeySet keys = (from.key_set() & kept_keys) | target.keys;
  auto alias = take_spare_tensor();
  if (C10_LIKELY(alias != nullptr)) {
    tensor_fields::set_storage(*alias, std::move(storage));
    tensor_fields::set_keys(*alias, keys);
    // As the constructor has it.
    if (C10_UNLIKELY(alias->version_counter().enabled() == alias->is_inference())) {
      alias->set_version_counter(alias->is_inference() ? c10::VariableVersion()
                                                       : c10::VariableVersion(0));
    }
  } else {
    // TensorImpl's constructor for views takes the keys as they are. The other one would add
    // autograd's keys.
    alias = c10::make_intrusive<c10::TensorImpl>(c10::TensorImpl::VIEW, std::move(storage), keys,
                                                 from.dtype());
  }
  tensor_fields::copy_geometry(from, *alias);
  tensor_fields::set_device(*alias, device);
  alias->set_allow_tensor_metadata_change(from.allow_tensor_metadata_change());
  return at::Tensor(std::move(alias));
}

at::Tensor make_special_alias(const kernel_target& target, const at::Tensor& source,
                              c10::Storage storage) {
  auto alias = source.unsafeGetTensorImpl()->shallow_copy_and_detach(
      c10::VariableVersion(0), /*allow_tensor_metadata_change=*/true);
  if (storage) alias->set_storage_keep_dtype(std::move(storage));
  tensor_fields::set_device(*alias, target.device(source.device().index()));
  tensor_fields::set_keys(
      *alias, move_keys(alias->key_set(), c10::BackendComponent::PrivateUse1Bit, target.backend));
  return at::Tensor(std::move(alias));
}

at::Tensor make_shape_alias(const kernel_target& target, const at::Tensor& source) {
  if (!source.defined() || !is_ours(source)) return source;
  at::Tensor alias;
  if (source.is_nested()) {
    alias = make_special_alias(target, source, {});
  } else {
    const c10::Device device = target.device(source.device().index());
    // As large as the source's memory, since the question may be asked of a view of the alias.
    const c10::SymInt bytes = at::detail::computeStorageNbytes(
        source.sym_sizes(), source.sym_strides(), static_cast<int64_t>(source.dtype().itemsize()),
        source.sym_storage_offset());
    auto impl = c10::make_intrusive<c10::TensorImpl>(
        c10::Storage(c10::Storage::use_byte_size_t(), bytes, c10::DataPtr(nullptr, device)),
        target.keys, source.dtype());
    impl->set_sizes_and_strides(source.sym_sizes(), source.sym_strides(),
                                source.sym_storage_offset());
    alias = at::Tensor(std::move(impl));
  }
  if (source.requires_grad()) alias.set_requires_grad(true);
  return alias;
}

}  // namespace outback::ops
