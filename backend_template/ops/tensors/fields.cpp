// The operators that read or set what a tensor is made of, and no element: views, the fields and
// members of sparse tensors, record_stream, and whether `tensor.data = other` is allowed. So
// nothing is lent and nothing is waited for; fake tensors, which have no memory, are asked too.
// torch's own functions for views and sparse tensors work for every device, but are registered for
// its own devices only.
#include <ATen/core/Tensor.h>
#include <ATen/ops/_coalesced_native.h>
#include <ATen/ops/_dimI_native.h>
#include <ATen/ops/_dimV_native.h>
#include <ATen/ops/_indices_native.h>
#include <ATen/ops/_nnz_native.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/_values_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/ccol_indices_native.h>
#include <ATen/ops/col_indices_native.h>
#include <ATen/ops/crow_indices_native.h>
#include <ATen/ops/dense_dim_native.h>
#include <ATen/ops/indices_native.h>
#include <ATen/ops/is_coalesced_native.h>
#include <ATen/ops/row_indices_native.h>
#include <ATen/ops/sparse_dim_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/values_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/Stream.h>

#include <typeinfo>

#include "backend_template/core/devices/dtypes.h"
#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"
#include "backend_template/ops/tensors/tensor_fields.h"

namespace outback::ops {
namespace {

// A view in another dtype can make a tensor of a dtype that the device does not support.
at::Tensor view_dtype(const at::Tensor& self, c10::ScalarType dtype) {
  core::check_dtype(dtype);
  return at::native::view_dtype(self, dtype);
}

// Tells the allocator that another stream uses a tensor's memory.
void record_stream(at::Tensor& self, c10::Stream stream) {
  core::device_allocator().recordStream(self.storage().data_ptr(), stream);
}

// True if the tensor has nothing that shallow_copy_from would lose: it is a dense TensorImpl
// itself, not a subclass, and no wrapper of a transform.
bool is_only_dense(const c10::TensorImpl& tensor) {
  return typeid(tensor) == typeid(c10::TensorImpl) && is_plain(tensor) &&
         tensor.layout() == c10::kStrided && !tensor.key_set().has_any(wrapper_keys);
}

// TensorImpl::has_compatible_shallow_copy_type lists torch's own devices only. Module.to relies on
// the answer: if it is false, each parameter becomes a new object, no longer tied to others and
// unknown to the optimizer.
bool has_compatible_shallow_copy_type(const at::Tensor& self, const at::Tensor& from) {
  c10::TensorImpl& ours = *self.unsafeGetTensorImpl();
  const c10::TensorImpl& theirs = *from.unsafeGetTensorImpl();
  return ours.has_compatible_shallow_copy_type(theirs.key_set()) ||
         (is_only_dense(ours) && is_only_dense(theirs));
}

// Without this kernel, functionalization would ask about the tensors inside its wrappers. The
// wrappers themselves use TensorImpl's answer, so that is the one to give.
bool wrappers_have_compatible_type(const at::Tensor& self, const at::Tensor& from) {
  return self.unsafeGetTensorImpl()->has_compatible_shallow_copy_type(from.key_set());
}

}  // namespace

void register_fields(registrar& to) {
  to.add<&at::native::as_strided_tensorimpl>("as_strided");
  to.add<&at::native::view>("view");
  to.add<&view_dtype>("view", "dtype");
  to.add<&at::native::_reshape_alias>("_reshape_alias");
  to.add<&at::native::unfold>("unfold");
  to.add<&at::native::view_as_real>("view_as_real");
  to.add<&at::native::view_as_complex>("view_as_complex");
  to.add<&record_stream>("record_stream");

  // `tensor.data = other` between this device and the CPU, as torch allows it among its own
  // devices.
  constexpr const char* name = "_has_compatible_shallow_copy_type";
  to.add<&has_compatible_shallow_copy_type>(name);
  // At autograd's key too, since the operator has no derivative and needs none.
  to.add<&has_compatible_shallow_copy_type>(name, "", c10::DispatchKey::AutogradPrivateUse1);
  to.add<&wrappers_have_compatible_type>(name, "", c10::DispatchKey::Functionalize);

  constexpr auto coo = c10::DispatchKey::SparsePrivateUse1;
  to.add<&at::native::sparse_dim_sparse>("sparse_dim", "", coo);
  to.add<&at::native::sparse_dim_sparse>("_dimI", "", coo);
  to.add<&at::native::dense_dim_sparse>("dense_dim", "", coo);
  to.add<&at::native::dense_dim_sparse>("_dimV", "", coo);
  to.add<&at::native::_nnz_sparse>("_nnz", "", coo);
  to.add<&at::native::is_coalesced_sparse>("is_coalesced", "", coo);
  to.add<&at::native::_coalesced_sparse_>("_coalesced_", "", coo);
  to.add<&at::native::_indices_sparse>("_indices", "", coo);
  to.add<&at::native::_values_sparse>("_values", "", coo);
  to.add<&at::native::indices_sparse>("indices", "", coo);
  to.add<&at::native::values_sparse>("values", "", coo);

  constexpr auto compressed = c10::DispatchKey::SparseCsrPrivateUse1;
  to.add<&at::native::sparse_dim_sparse_csr>("sparse_dim", "", compressed);
  to.add<&at::native::dense_dim_sparse_csr>("dense_dim", "", compressed);
  to.add<&at::native::_nnz_sparse_csr>("_nnz", "", compressed);
  to.add<&at::native::crow_indices_sparse_csr>("crow_indices", "", compressed);
  to.add<&at::native::col_indices_sparse_csr>("col_indices", "", compressed);
  to.add<&at::native::ccol_indices_sparse_csr>("ccol_indices", "", compressed);
  to.add<&at::native::row_indices_sparse_csr>("row_indices", "", compressed);
  to.add<&at::native::values_sparse_csr>("values", "", compressed);
}

}  // namespace outback::ops
