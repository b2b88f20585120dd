// resize_ and set_: tensors that change their sizes or their storage.
#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/Resize.h>
#include <ATen/native/ResizeCommon.h>
#include <ATen/ops/set.h>
#include <c10/util/Exception.h>
#include <c10/util/ScopeExit.h>
#include <c10/util/safe_numerics.h>

#include <cstdint>
#include <limits>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/core/memory/storage.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {
namespace {

// Returns the number of elements. torch counts them only when the tensor has the new sizes: an
// error then would leave them.
int64_t count_of(at::IntArrayRef size) {
  uint64_t count = 0;
  const bool overflows = c10::safe_multiplies_u64(size, &count);
  TORCH_CHECK(!overflows && count <= std::numeric_limits<int64_t>::max(),
              "numel: integer multiplication overflow: sizes ", size,
              " have more elements than 64 bits can count");
  return static_cast<int64_t>(count);
}

// Makes the tensor's storage at least `size` bytes large. Called before the sizes change, so that
// running out of memory leaves the old sizes.
void make_room(c10::TensorImpl& tensor, size_t size) {
  c10::StorageImpl& storage = *tensor.unsafe_storage().unsafeGetStorageImpl();
  if (size > storage.nbytes()) core::resize_storage(storage, size);
}

// torch's function for the CPU only sets sizes and strides here: make_room has resized the storage.
void set_shape(c10::TensorImpl& tensor, at::IntArrayRef size, at::OptionalIntArrayRef stride) {
  at::native::resize_impl_cpu_(&tensor, size, stride, /*resize_storage=*/false);
}

const at::Tensor& resize_(const at::Tensor& self, at::IntArrayRef size,
                          std::optional<c10::MemoryFormat> memory_format) {
  c10::TensorImpl& impl = *self.unsafeGetTensorImpl();
  const size_t old_size = impl.unsafe_storage().nbytes();
  at::detail::check_size_nonnegative(size);
  if (impl.sizes() != size) {
    if (count_of(size) != 0) {
      make_room(impl, at::detail::computeStorageNbytesContiguous(
                          size, impl.itemsize(), static_cast<size_t>(impl.storage_offset())));
    }
    set_shape(impl, size, std::nullopt);
  }
  if (memory_format) {
    TORCH_CHECK(*memory_format != c10::MemoryFormat::Preserve, "Unsupported memory format ",
                *memory_format);
    impl.empty_tensor_restride(*memory_format);
  }
  if (C10_UNLIKELY(at::globalContext().deterministicAlgorithms() &&
                   at::globalContext().deterministicFillUninitializedMemory())) {
    at::native::fill_resize_deterministic_(self, static_cast<int64_t>(old_size));
  }
  return self;  // NOLINT(bugprone-return-const-ref-from-parameter): torch's signature
}

at::Tensor& set_part_of_storage(at::Tensor& self, at::Storage source, int64_t offset,
                                at::IntArrayRef size, at::IntArrayRef stride) {
  c10::TensorImpl& impl = *self.unsafeGetTensorImpl();
  const c10::Storage before = impl.unsafe_storage();
  at::native::checkSetStorage(self, std::move(source), offset, size, stride);  // and sets it
  // The old sizes may reach beyond the new storage.
  auto put_back = c10::make_scope_exit([&] { impl.set_storage_keep_dtype(before); });
  at::OptionalIntArrayRef strides;  // an empty list with a null pointer means "contiguous" to torch
  if (stride.data() != nullptr) strides = stride;
  const size_t start = static_cast<size_t>(offset);
  make_room(impl, count_of(size) == 0 ? 0
                  : strides
                      ? at::detail::computeStorageNbytes(size, stride, impl.itemsize(), start)
                      : at::detail::computeStorageNbytesContiguous(size, impl.itemsize(), start));
  put_back.release();
  impl.set_storage_offset(offset);
  set_shape(impl, size, strides);
  return self;
}

at::Tensor& set_storage(at::Tensor& self, at::Storage source) {
  const auto count = static_cast<int64_t>(source.nbytes() / self.itemsize());
  return set_part_of_storage(self, std::move(source), 0, {count}, {});
}

at::Tensor& set_tensor(at::Tensor& self, const at::Tensor& source) {
  if (self.is_same(source)) return self;
  return set_part_of_storage(self, source.storage(), source.storage_offset(), source.sizes(),
                             source.strides());
}

at::Tensor& set_empty(at::Tensor& self) {
  c10::DataPtr none = core::allocate_on(self.device().index(), 0);
  return set_part_of_storage(self, core::make_storage(std::move(none), 0), 0, {0}, {});
}

}  // namespace

void register_resize(registrar& to) {
  to.add<&resize_>("resize_");
  to.add<&set_part_of_storage>("set_", "source_Storage_storage_offset");
  to.add<&set_storage>("set_", "source_Storage");
  to.add<&set_tensor>("set_", "source_Tensor");
  to.add<&set_empty>("set_");
}

}  // namespace outback::ops
