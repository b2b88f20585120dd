// The view operators that torch does not compose of others. torch's own functions work for every
// device, since they only make other sizes and strides over the same storage, but are registered
// for its own devices only.
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>

#include "backend_template/core/devices/dtypes.h"
#include "backend_template/ops/own/own.h"
#include "backend_template/ops/registrar.h"

namespace outback::ops {
namespace {

// A view in another dtype can make a tensor of a dtype that the device does not support.
at::Tensor view_dtype(const at::Tensor& self, c10::ScalarType dtype) {
  core::check_dtype(dtype);
  return at::native::view_dtype(self, dtype);
}

}  // namespace

void register_views(registrar& to) {
  to.add<&at::native::as_strided_tensorimpl>("as_strided");
  to.add<&at::native::view>("view");
  to.add<&view_dtype>("view", "dtype");
  to.add<&at::native::_reshape_alias>("_reshape_alias");
  to.add<&at::native::unfold>("unfold");
  to.add<&at::native::view_as_real>("view_as_real");
  to.add<&at::native::view_as_complex>("view_as_complex");
}

}  // namespace outback::ops
