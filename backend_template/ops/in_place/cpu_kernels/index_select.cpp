// index_select, which embedding calls. torch's kernel for the CPU makes its result on the device of
// its input and works on pointers, so it runs in place as it is. It first makes a non-contiguous
// index contiguous, which is an operator: such calls take the alias.
#include <ATen/core/Tensor.h>
#include <ATen/ops/index_select_native.h>
#include <ATen/ops/index_select_ops.h>

#include "backend_template/ops/in_place/cpu_kernels/cpu_kernels.h"
#include "backend_template/ops/in_place/cpu_kernels/cpu_structured.h"
#include "backend_template/ops/registrar.h"

namespace outback::ops {
namespace {

at::Tensor index_select(const at::Tensor& self, int64_t dim, const at::Tensor& index) {
  const bool runs_on_pointers = is_ours(self) && is_like(self, self) && is_ours(index) &&
                                is_like(index, index) && self.device() == index.device() &&
                                is_contiguous(index) && ready(self);
  return runs_on_pointers ? at::native::index_select_cpu_(self, dim, index)
                          : unboxed_kernel<at::_ops::index_select>::run(self, dim, index);
}

}  // namespace

void register_index_select(registrar& to) {
  to.add<&index_select>("index_select");
}

}  // namespace outback::ops
