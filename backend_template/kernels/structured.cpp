#include "outback/kernels/structured.h"

#include <ATen/EmptyTensor.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/as_strided.h>
#include <ATen/ops/copy.h>
#include <c10/util/Exception.h>

#include "backend_template/kernels/services.h"

// What PyTorch's code generator writes for each structured operator of the CPU and CUDA: how the
// functional, in-place and out= variant get their outputs, and the checks with PyTorch's messages.
namespace outback::kernels::detail {
namespace {

// Allocates on the current device: structured_outputs::set has made that the one of `options`.
at::Tensor allocate(at::IntArrayRef size, at::IntArrayRef stride,
                    const at::TensorOptions& options) {
  constexpr c10::DispatchKeySet dense_keys{c10::DispatchKey::PrivateUse1};
  const c10::ScalarType dtype = options.dtype().toScalarType();
  services().check_dtype(dtype);
  c10::Allocator& allocator = services().device_allocator();
  if (stride.empty()) {
    return at::detail::empty_generic(size, &allocator, dense_keys, dtype,
                                     options.memory_format_opt());
  }
  return at::detail::empty_strided_generic(size, stride, &allocator, dense_keys, dtype);
}

void resize_out(const at::Tensor& out, at::IntArrayRef size, at::IntArrayRef stride,
                const at::TensorOptions& options) {
  TORCH_CHECK(options.dtype() == out.dtype(), "Expected out tensor to have dtype ", options.dtype(),
              ", but got ", out.dtype(), " instead");
  TORCH_CHECK(options.device() == out.device(), "Expected out tensor to have device ",
              options.device(), ", but got ", out.device(), " instead");
  if (!at::native::resize_output(out, size)) return;  // not resized, so it keeps its strides
  if (!stride.empty()) {
    out.as_strided_(size, stride);
  } else if (const std::optional<c10::MemoryFormat> format = options.memory_format_opt()) {
    out.unsafeGetTensorImpl()->empty_tensor_restride(*format);
  }
}

void check_inplace(const at::Tensor& self, at::IntArrayRef size, const at::TensorOptions& options) {
  TORCH_CHECK(options.dtype() == self.dtype(), "Bad in-place call: input tensor dtype ",
              self.dtype(), " and output tensor dtype ", options.dtype(), " should match");
  TORCH_CHECK(options.device() == self.device(), "Bad in-place call: input tensor device ",
              self.device(), " and output tensor device ", options.device(), " should match");
  TORCH_CHECK(size == self.sizes(), "Bad in-place call: input tensor size ", self.sizes(),
              " and output tensor size ", size, " should match");
}

}  // namespace

void structured_outputs::set(size_t index, at::IntArrayRef size, at::IntArrayRef stride,
                             const at::TensorOptions& options, bool exact_strides) {
  guard_.reset_device(options.device());
  at::Tensor& output = outputs_[index];
  if (kind_ == overload_kind::functional) {
    output = allocate(size, stride, options);
    return;
  }
  if (kind_ == overload_kind::out) {
    resize_out(output, size, stride, options);
  } else {
    check_inplace(output, size, options);
  }
  // A kernel that needs these strides writes a proxy, which `finish` copies to the output.
  if (exact_strides && output.strides() != stride) {
    proxies_[index] = allocate(size, stride, options);
  }
}

void structured_outputs::finish() {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (proxies_[i].defined()) outputs_[i].copy_(proxies_[i]);
  }
}

void check_device(std::optional<c10::Device>& common, const at::Tensor& tensor, const char* name) {
  if (!tensor.defined()) return;
  if (!common) common = tensor.device();
  TORCH_CHECK(*common == tensor.device(), name,
              ": Expected all tensors to be on the same device, but found at least two devices, ",
              *common, " and ", tensor.device(), "!");
}

}  // namespace outback::kernels::detail
