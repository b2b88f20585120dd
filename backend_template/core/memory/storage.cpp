#include "backend_template/core/memory/storage.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <utility>

#include "backend_template/core/memory/copy.h"
#include "backend_template/core/memory/device_allocator.h"

namespace outback::core {

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
