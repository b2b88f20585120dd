#include "backend_template/ops/in_place/alias.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <utility>

#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/ops/in_place/tensor_fields.h"

namespace outback::ops {
namespace {

// The keys of a tensor that its alias keeps. Autograd's are among them: a tensor without them is an
// inference tensor, and a kernel cannot make a nested tensor of such a one.
constexpr c10::DispatchKeySet kept_keys{
    c10::DispatchKey::Conjugate, c10::DispatchKey::Negative, c10::DispatchKey::ZeroTensor,
    c10::DispatchKey::ADInplaceOrView, c10::DispatchKey::AutogradFunctionality};

c10::Storage storage_over(c10::DataPtr&& data, const c10::StorageImpl& source) {
  // A resizable alias that grows takes its memory from this allocator.
  static c10::Allocator* const cpu = c10::GetCPUAllocator();
  return c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(),
                                               static_cast<int64_t>(source.nbytes()),
                                               std::move(data), cpu, source.resizable());
}

// The deleter of what `memory_of` answers.
void let_go(void* source) {
  c10::raw::intrusive_ptr::decref(static_cast<c10::StorageImpl*>(source));
}

}  // namespace

c10::Storage make_alias_storage(c10::StorageImpl& source, void* data) {
  return storage_over(memory_of(source, data), source);
}

c10::Storage make_borrowed_storage(const c10::StorageImpl& source, void* data) {
  return storage_over({data, c10::Device(c10::kCPU)}, source);
}

c10::DataPtr memory_of(c10::StorageImpl& source, void* data) {
  c10::raw::intrusive_ptr::incref(&source);
  return {data, &source, &let_go, c10::Device(c10::kCPU)};
}

void keep_memory(c10::StorageImpl& alias, const c10::StorageImpl& source) {
  const c10::DataPtr& held = alias.data_ptr();
  const bool is_over_source =
      held.get_deleter() == &let_go && held.get_context() == static_cast<const void*>(&source);
  if (!is_over_source || held.get() != source.data()) return;
  c10::DataPtr owned = core::share_memory(source.data_ptr(), c10::Device(c10::kCPU));
  // What is not the allocator's is not resizable either, and stays where it is.
  if (owned.get() != nullptr) alias.set_data_ptr_noswap(std::move(owned));
}

at::Tensor make_alias_tensor(const at::Tensor& source, c10::Storage storage) {
  const c10::TensorImpl& from = *source.unsafeGetTensorImpl();
  const c10::DispatchKeySet keys =
      (from.key_set() & kept_keys) | c10::DispatchKeySet(c10::DispatchKey::CPU);
  // TensorImpl's constructor for views takes the keys as they are. The other one would add
  // autograd's keys and make a version counter.
  auto alias = c10::make_intrusive<c10::TensorImpl>(c10::TensorImpl::VIEW, std::move(storage), keys,
                                                    from.dtype());
  tensor_fields::copy_geometry(from, *alias);
  tensor_fields::set_device(*alias, c10::Device(c10::kCPU));
  alias->set_allow_tensor_metadata_change(from.allow_tensor_metadata_change());
  return at::Tensor(std::move(alias));
}

at::Tensor make_special_alias(const at::Tensor& source, c10::Storage storage) {
  auto alias = source.unsafeGetTensorImpl()->shallow_copy_and_detach(
      c10::VariableVersion(0), /*allow_tensor_metadata_change=*/true);
  if (storage) alias->set_storage_keep_dtype(std::move(storage));
  tensor_fields::set_device(*alias, c10::Device(c10::kCPU));
  tensor_fields::set_keys(*alias, move_keys(alias->key_set(), c10::BackendComponent::PrivateUse1Bit,
                                            c10::BackendComponent::CPUBit));
  return at::Tensor(std::move(alias));
}

}  // namespace outback::ops
