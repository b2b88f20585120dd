// New tensors. These operators allocate memory of the device and do not touch it.
#include "backend_template/ops/tensors/factories.h"

#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/TensorFactories.h>
#include <c10/core/DefaultDtype.h>
#include <c10/macros/Macros.h>
#include <c10/util/Exception.h>

#include <utility>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/dtypes.h"
#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {
namespace {

constexpr c10::DispatchKeySet dense_keys{c10::DispatchKey::PrivateUse1};

// Makes `device` the current device for the length of a call, since c10's allocators take memory of
// the current device.
class device_scope {
 public:
  explicit device_scope(std::optional<c10::Device> device) : before_(core::current_device()) {
    if (C10_LIKELY(!device || !device->has_index() || device->index() == before_)) return;
    core::set_device(device->index());
    is_other_ = true;
  }
  ~device_scope() {
    if (C10_UNLIKELY(is_other_)) core::set_device_unchecked(before_);
  }
  device_scope(const device_scope&) = delete;
  device_scope& operator=(const device_scope&) = delete;

 private:
  const c10::DeviceIndex before_;
  bool is_other_ = false;
};

c10::ScalarType checked_dtype(std::optional<c10::ScalarType> dtype,
                              std::optional<c10::Layout> layout, std::optional<bool> pin_memory) {
  TORCH_CHECK(c10::layout_or_default(layout) == c10::kStrided,
              "only strided tensors are dense, got layout ", *layout);
  TORCH_CHECK(!c10::pinned_memory_or_default(pin_memory), "Only dense CPU tensors can be pinned");
  const c10::ScalarType type = dtype ? *dtype : c10::get_default_dtype_as_scalartype();
  core::check_dtype(type);
  return type;
}

// torch.utils.deterministic.fill_uninitialized_memory, as torch's own factories do it.
at::Tensor&& filled_if_deterministic(at::Tensor&& tensor) {
  if (C10_UNLIKELY(at::globalContext().deterministicAlgorithms() &&
                   at::globalContext().deterministicFillUninitializedMemory())) {
    at::native::fill_empty_deterministic_(tensor);
  }
  return std::move(tensor);
}

at::Tensor empty_memory_format(at::IntArrayRef size, std::optional<c10::ScalarType> dtype,
                               std::optional<c10::Layout> layout, std::optional<c10::Device> device,
                               std::optional<bool> pin_memory,
                               std::optional<c10::MemoryFormat> memory_format) {
  const c10::ScalarType type = checked_dtype(dtype, layout, pin_memory);
  const device_scope scope(device);
  return filled_if_deterministic(
      at::detail::empty_generic(size, &core::device_allocator(), dense_keys, type, memory_format));
}

at::Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef stride,
                         std::optional<c10::ScalarType> dtype, std::optional<c10::Layout> layout,
                         std::optional<c10::Device> device, std::optional<bool> pin_memory) {
  const c10::ScalarType type = checked_dtype(dtype, layout, pin_memory);
  const device_scope scope(device);
  return filled_if_deterministic(
      at::detail::empty_strided_generic(size, stride, &core::device_allocator(), dense_keys, type));
}

// Returns a tensor of zeros without memory, with the ZeroTensor key. Autograd's forward mode makes
// such tensors; no kernel may read them.
at::Tensor efficient_zero_tensor(at::IntArrayRef size, std::optional<c10::ScalarType> dtype,
                                 std::optional<c10::Layout> layout,
                                 std::optional<c10::Device> device,
                                 std::optional<bool> pin_memory) {
  const c10::ScalarType type = checked_dtype(dtype, layout, pin_memory);
  at::native::ZeroTensorAllocator allocator(c10::Device(
      core::device_type, core::resolve_index(device ? device->index() : c10::DeviceIndex{-1})));
  at::Tensor zeros = at::detail::empty_generic(
      size, &allocator, dense_keys | c10::DispatchKeySet(c10::DispatchKey::ZeroTensor), type,
      std::nullopt);
  // The allocator lives on this function's stack, so the storage must not keep a pointer to it.
  c10::StorageImpl& storage = *zeros.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
  storage.set_allocator(&core::device_allocator());
  return zeros;
}

}  // namespace

at::Tensor new_tensor(at::IntArrayRef size, at::IntArrayRef stride, c10::ScalarType dtype,
                      c10::Device device, std::optional<c10::MemoryFormat> format) {
  core::check_dtype(dtype);
  const device_scope scope(device);
  if (stride.empty()) {
    return at::detail::empty_generic(size, &core::device_allocator(), dense_keys, dtype, format);
  }
  return at::detail::empty_strided_generic(size, stride, &core::device_allocator(), dense_keys,
                                           dtype);
}

void register_factories(registrar& to) {
  to.add<&empty_memory_format>("empty", "memory_format");
  to.add<&empty_strided>("empty_strided");
  to.add<&efficient_zero_tensor>("_efficientzerotensor");
}

}  // namespace outback::ops
