// histc of integers. CUDA's kernel takes them and the CPU's does not, and libraries that count with
// it ask only whether a tensor is on the CPU: the mixtures of experts of transformers do. Doubles
// have every count, and every integer below 2^53.
#include <ATen/core/Tensor.h>
#include <ATen/ops/histc.h>
#include <ATen/ops/histc_ops.h>

#include "backend_template/ops/in_place/twin_first.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {
namespace {

at::Tensor histc(const at::Tensor& self, int64_t bins, const at::Scalar& min,
                 const at::Scalar& max) {
  const c10::ScalarType dtype = self.scalar_type();
  if (!c10::isIntegralType(dtype, /*includeBool=*/false)) {
    return unboxed_kernel<at::_ops::histc>::run(self, bins, min, max);
  }
  return at::histc(self.to(c10::kDouble), bins, min, max).to(dtype);
}

}  // namespace

void register_histogram(registrar& to) {
  add_twin_first<at::_ops::histc, &histc>(to);
}

}  // namespace outback::ops
