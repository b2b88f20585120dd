// _local_scalar_dense: the value of a tensor of one element, as item() returns it. The host waits.
#include <ATen/core/Tensor.h>
#include <ATen/ops/_local_scalar_dense.h>
#include <ATen/ops/_local_scalar_dense_native.h>

#include "backend_template/core/streams/stream.h"
#include "backend_template/core/streams/sync_debug.h"
#include "backend_template/core/twin/twin.h"
#include "backend_template/ops/in_place/kernel_call.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"
#include "backend_template/ops/tensors/tensor_fields.h"

namespace outback::ops {
namespace {

at::Scalar local_scalar_dense(const at::Tensor& self) {
  core::note_synchronizing();
  const c10::DeviceIndex index = self.device().index();
  if (core::runs_cpu_kernels(index) && is_plain(*self.unsafeGetTensorImpl()) && !self.is_conj() &&
      !self.is_neg() && !self._is_zerotensor()) {
    core::drain(index);
    return at::native::_local_scalar_dense_cpu(self);  // reads through the pointer
  }
  kernel_call call;
  const at::Tensor lent = call.lend(self);
  call.begin();
  return call.run({"aten::_local_scalar_dense"}, [&] { return at::_local_scalar_dense(lent); });
}

}  // namespace

void register_scalars(registrar& to) {
  to.add<&local_scalar_dense>("_local_scalar_dense");
}

}  // namespace outback::ops
