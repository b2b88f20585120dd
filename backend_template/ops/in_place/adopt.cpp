#include "backend_template/ops/in_place/adopt.h"

#include <memory>
#include <mutex>
#include <utility>

#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/core/memory/storage.h"
#include "backend_template/ops/tensors/tensor_fields.h"

namespace outback::ops {
namespace {

using shared_memory = std::shared_ptr<c10::DataPtr>;

void let_go(void* held) {
  delete static_cast<shared_memory*>(held);
}

c10::DataPtr owner_of(const shared_memory& memory) {
  return {memory->get(), new shared_memory(memory), &let_go, memory->device()};
}

// Returns another owner of the storage's memory. Who else holds the storage, a kernel that keeps
// its result say, may give it other memory, and the old one lives on: so the storage's own DataPtr
// becomes one that shares.
c10::DataPtr share_memory_of(c10::StorageImpl& storage) {
  static auto& one_at_a_time = *new std::mutex;  // leaked: operators may run until the process ends
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  if (storage.mutable_data() == nullptr) return {nullptr, storage.device()};
  c10::DataPtr& own = storage.mutable_data_ptr();
  if (own.get_deleter() != &let_go) {
    const auto memory = std::make_shared<c10::DataPtr>(own.get(), own.device());
    c10::DataPtr sharing = owner_of(memory);
    *memory = std::exchange(own, std::move(sharing));
  }
  return owner_of(*static_cast<shared_memory*>(own.get_context()));
}

}  // namespace

void adopt_storage(const kernel_target& target, c10::StorageImpl& storage, c10::Device device) {
  storage.set_data_ptr_noswap(
      target.adopt(std::move(storage.mutable_data_ptr()), storage.nbytes(), device));
  storage.set_allocator(&core::device_allocator());
}

c10::Storage share_storage(const kernel_target& target, const c10::Storage& storage,
                           c10::Device device) {
  c10::StorageImpl& shared = *storage.unsafeGetStorageImpl();
  const size_t size = shared.nbytes();
  return core::make_storage(target.adopt(share_memory_of(shared), size, device), size);
}

void relabel(const kernel_target& target, c10::TensorImpl& tensor, c10::Device device) {
  tensor_fields::set_device(tensor, device);
  tensor_fields::set_keys(
      tensor, move_keys(tensor.key_set(), target.backend, c10::BackendComponent::PrivateUse1Bit));
}

at::Tensor as_view_of(const c10::TensorImpl& view, const c10::TensorImpl& source) {
  constexpr c10::DispatchKeySet bits{c10::DispatchKey::Conjugate, c10::DispatchKey::Negative,
                                     c10::DispatchKey::ZeroTensor};
  // `view` is plain: a plain view of a nested or quantized tensor's memory has the keys of a dense
  // tensor, not those of `source`.
  c10::DispatchKeySet keys = source.key_set() - bits;
  if (!is_plain(source)) {
    constexpr auto backend = c10::BackendComponent::PrivateUse1Bit;
    keys = c10::DispatchKeySet(c10::DispatchKey::PrivateUse1) |
           c10::getAutocastRelatedKeySetFromBackend(backend);
    const bool is_inference =
        !source.key_set().has_any(c10::autograd_dispatch_keyset_with_ADInplaceOrView);
    if (!is_inference) keys = keys | c10::getAutogradRelatedKeySetFromBackend(backend);
  }
  keys = keys | (view.key_set() & bits);
  auto result = c10::make_intrusive<c10::TensorImpl>(
      c10::TensorImpl::VIEW, c10::Storage(source.storage()), keys, view.dtype());
  tensor_fields::copy_geometry(view, *result);
  tensor_fields::set_device(*result, source.device());
  return at::Tensor(std::move(result));
}

}  // namespace outback::ops
