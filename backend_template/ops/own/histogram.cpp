// histc of integers. CUDA's kernel takes them and the CPU's does not, and libraries that count with
// it ask only whether a tensor is on the CPU: the mixtures of experts of transformers do. Doubles
// have every count, and every integer below 2^53; the CPU makes them, since the device may have
// none.
#include <ATen/core/Tensor.h>
#include <ATen/ops/histc.h>
#include <ATen/ops/histc_ops.h>

#include <utility>

#include "backend_template/ops/in_place/kernel_call.h"
#include "backend_template/ops/in_place/twin_first.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {
namespace {

using histc_op = at::_ops::histc;

at::Tensor histc(const at::Tensor& self, int64_t bins, const at::Scalar& min,
                 const at::Scalar& max) {
  const c10::ScalarType dtype = self.scalar_type();
  if (!c10::isIntegralType(dtype, /*includeBool=*/false)) {
    return unboxed_kernel<histc_op>::run(self, bins, min, max);
  }
  kernel_call call;
  const at::Tensor lent = call.lend(self);
  constexpr operator_text name{histc_op::name, histc_op::overload_name};
  call.begin(name);
  at::Tensor counts =
      call.run(name, [&] { return at::histc(lent.to(c10::kDouble), bins, min, max).to(dtype); });
  call.finish();
  return call.take_back(std::move(counts));
}

}  // namespace

void register_histogram(registrar& to) {
  add_twin_first<histc_op, &histc>(to);
}

}  // namespace outback::ops
