#include "backend_template/core/memory/storage.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <utility>

#include "backend_template/core/memory/copy.h"
#include "backend_template/core/memory/device_allocator.h"

namespace outback::core {

c10::Storage make_storage(c10::DataPtr&& memory, size_t size) {
  return c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(),
                                               static_cast<int64_t>(size), std::move(memory),
                                               &device_allocator(), /*resizable=*/true);
}

void resize_storage(c10::StorageImpl& storage, size_t size) {
  TORCH_CHECK(storage.resizable(), "Trying to resize storage that is not resizable");
  const c10::Device device = storage.device();
  c10::DataPtr memory = allocate_on(device.index(), size);
  // The old memory is freed while the copy is pending. On the memory's own stream that is safe,
  // since later work comes after the copy. For another stream the user calls record_stream, as for
  // every operator.
  const size_t kept = std::min(storage.nbytes(), size);
  if (kept != 0)
    copy_bytes(memory.get(), device, storage.data(), device, kept, /*non_blocking=*/true);
  storage.set_data_ptr_noswap(std::move(memory));
  storage.set_nbytes(size);
}

}  // namespace outback::core
