// Operators of a CPU tensor that take a number of the device's, a tensor without dimensions, as
// CUDA's do. masked_assignment.cpp has cpu_losses[mask] = loss.
#include <ATen/core/Tensor.h>
#include <ATen/ops/fill_ops.h>
#include <ATen/ops/index_fill_ops.h>

#include "backend_template/ops/in_place/unboxed_kernel.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"
#include "backend_template/ops/tensors/tensor_fields.h"

namespace outback::ops {
namespace {

bool is_number_for_cpu(const at::Tensor& self, const at::Tensor& value) {
  return self.device().is_cpu() && is_ours(value) && value.dim() == 0;
}

at::Tensor& fill_with_tensor(at::Tensor& self, const at::Tensor& value) {
  if (is_number_for_cpu(self, value)) return self.fill_(value.item());
  return unboxed_kernel<at::_ops::fill__Tensor>::run(self, value);
}

at::Tensor& index_fill_with_tensor(at::Tensor& self, int64_t dim, const at::Tensor& index,
                                   const at::Tensor& value) {
  if (is_number_for_cpu(self, value)) return self.index_fill_(dim, index, value.item());
  return unboxed_kernel<at::_ops::index_fill__int_Tensor>::run(self, dim, index, value);
}

}  // namespace

void register_device_numbers(registrar& to) {
  to.add<at::_ops::fill__Tensor, &fill_with_tensor>();
  to.add<at::_ops::index_fill__int_Tensor, &index_fill_with_tensor>();
}

}  // namespace outback::ops
