// Allows `tensor.data = other` between this device and the CPU, as torch allows it among its own
// devices.
#include <c10/core/TensorImpl.h>

#include <typeinfo>

#include "backend_template/ops/in_place/tensor_fields.h"
#include "backend_template/ops/own/own.h"
#include "backend_template/ops/registrar.h"

namespace outback::ops {
namespace {

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

void register_tensor_data(registrar& to) {
  constexpr const char* name = "_has_compatible_shallow_copy_type";
  to.add<&has_compatible_shallow_copy_type>(name);
  // At autograd's key too, since the operator has no derivative and needs none.
  to.add<&has_compatible_shallow_copy_type>(name, "", c10::DispatchKey::AutogradPrivateUse1);
  to.add<&wrappers_have_compatible_type>(name, "", c10::DispatchKey::Functionalize);
}

}  // namespace outback::ops
