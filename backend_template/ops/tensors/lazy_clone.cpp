// torch._lazy_clone, which copies at once.
//
// torch's own kernel shares the memory until somebody writes to it. It can do so only if the
// context of the memory's DataPtr is the address of the memory. Here the context is the allocator's
// block, which makes freeing cheap. The result is the same: a clone with the same strides.
#include <ATen/core/Tensor.h>

#include "backend_template/core/memory/copy.h"
#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/core/memory/storage.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {
namespace {

at::Tensor lazy_clone(const at::Tensor& self) {
  const c10::Storage& storage = self.storage();
  const c10::Device device = self.device();
  const size_t size = storage.data() == nullptr ? 0 : storage.nbytes();  // null: a zero tensor
  c10::DataPtr memory = core::allocate_on(device.index(), size);
  if (size != 0) {
    core::copy_bytes(memory.get(), device, storage.data(), device, size, /*non_blocking=*/true);
  }
  auto clone = c10::make_intrusive<c10::TensorImpl>(
      core::make_storage(std::move(memory), storage.nbytes()), self.key_set(), self.dtype());
  clone->set_sizes_and_strides(self.sizes(), self.strides(), self.storage_offset());
  return at::Tensor(std::move(clone));
}

}  // namespace

void register_lazy_clone(registrar& to) {
  to.add<&lazy_clone>("_lazy_clone");
}

}  // namespace outback::ops
