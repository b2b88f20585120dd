#include "backend_template/ops/on_pointers/structured.h"

#include <ATen/Context.h>

namespace outback::ops {

C10_NOINLINE void set_output(at::Tensor& output, at::IntArrayRef size, at::IntArrayRef stride,
                             const at::TensorOptions& options) {
  if (output.defined()) return;
  output = new_tensor(size, stride, options.dtype().toScalarType(), options.device(),
                      options.memory_format_opt());
}

C10_NOINLINE bool waited_for(const at::Tensor& first) {
  const c10::DeviceIndex index = first.device().index();
  if (!core::runs_cpu_kernels(index)) return false;
  core::drain(index);
  return true;
}

C10_NOINLINE bool ready(const at::Tensor& first) {
  return c10::isFloatingType(first.scalar_type()) && waited_for(first);
}

bool fills_new_memory() {
  const at::Context& context = at::globalContext();
  return C10_UNLIKELY(context.deterministicAlgorithms()) &&
         context.deterministicFillUninitializedMemory();
}

C10_NOINLINE bool is_like(const at::Tensor& first, const at::Tensor& tensor) {
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  return is_plain(impl) && !tensor.is_neg() && !has_names(tensor) &&
         impl.dtype() == first.dtype() && impl.device() == first.device();
}

C10_NOINLINE bool is_contiguous(const at::Tensor& tensor) {
  return tensor.is_contiguous() && tensor.suggest_memory_format() == at::MemoryFormat::Contiguous;
}

C10_NOINLINE bool is_index_of(const at::Tensor& first, const at::Tensor& tensor) {
  return (tensor.scalar_type() == c10::kLong || tensor.scalar_type() == c10::kBool) &&
         is_like(tensor, tensor) && tensor.device() == first.device();
}

}  // namespace outback::ops
