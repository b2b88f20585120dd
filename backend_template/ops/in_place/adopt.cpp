#include "backend_template/ops/in_place/adopt.h"

#include <utility>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/memory/copy.h"
#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/ops/in_place/alias.h"
#include "backend_template/ops/in_place/tensor_fields.h"

namespace outback::ops {

c10::DataPtr adopt_memory(c10::DataPtr&& memory, size_t size, c10::Device device) {
  if (core::addresses_host(device.index()))
    return core::adopt(std::move(memory), size, device.index());
  c10::DataPtr copy = core::allocate_on(device.index(), memory.get() == nullptr ? 0 : size);
  if (memory.get() != nullptr) {
    core::copy_bytes(copy.get(), device, memory.get(), c10::Device(c10::kCPU), size,
                     /*non_blocking=*/true);
  }
  return copy;
}

void adopt_storage(c10::StorageImpl& storage, c10::Device device) {
  storage.set_data_ptr_noswap(
      adopt_memory(std::move(storage.mutable_data_ptr()), storage.nbytes(), device));
  storage.set_allocator(&core::device_allocator());
}

c10::Storage share_storage(const c10::Storage& storage, c10::Device device) {
  c10::StorageImpl& shared = *storage.unsafeGetStorageImpl();
  const size_t size = shared.nbytes();
  return c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), static_cast<int64_t>(size),
      adopt_memory(memory_of(shared, shared.mutable_data()), size, device),
      &core::device_allocator(), /*resizable=*/true);
}

void relabel(c10::TensorImpl& tensor, c10::Device device) {
  tensor_fields::set_device(tensor, device);
  tensor_fields::set_keys(tensor, move_keys(tensor.key_set(), c10::BackendComponent::CPUBit,
                                            c10::BackendComponent::PrivateUse1Bit));
}

at::Tensor as_view_of(const c10::TensorImpl& view, const c10::TensorImpl& source) {
  constexpr c10::DispatchKeySet bits{c10::DispatchKey::Conjugate, c10::DispatchKey::Negative,
                                     c10::DispatchKey::ZeroTensor};
  // `view` is plain: a plain view of a nested or quantized tensor's memory has the keys of a dense
  // tensor, not those of `source`.
  const c10::DispatchKeySet plain =
      is_plain(source)
          ? source.key_set() - bits
          : c10::DispatchKeySet(c10::DispatchKey::PrivateUse1) |
                c10::getAutogradRelatedKeySetFromBackend(c10::BackendComponent::PrivateUse1Bit) |
                c10::getAutocastRelatedKeySetFromBackend(c10::BackendComponent::PrivateUse1Bit);
  const c10::DispatchKeySet keys = plain | (view.key_set() & bits);
  auto result = c10::make_intrusive<c10::TensorImpl>(
      c10::TensorImpl::VIEW, c10::Storage(source.storage()), keys, view.dtype());
  tensor_fields::copy_geometry(view, *result);
  tensor_fields::set_device(*result, source.device());
  return at::Tensor(std::move(result));
}

}  // namespace outback::ops
