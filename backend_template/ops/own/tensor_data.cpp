// `tensor.data = other` between this device and the CPU, as torch allows among its own devices.
#include <c10/core/TensorImpl.h>

#include <typeinfo>

#include "backend_template/ops/in_place/tensor_fields.h"
#include "backend_template/ops/own/own.h"
#include "backend_template/ops/registrar.h"

namespace outback::ops {
namespace {

constexpr c10::DispatchKeySet wrapper_keys{
    c10::DispatchKey::Python, c10::DispatchKey::FuncTorchGradWrapper,
    c10::DispatchKey::FuncTorchBatched, c10::DispatchKey::Functionalize};

// Sizes, strides and a storage: all that shallow_copy_from carries over.
bool is_only_dense(const c10::TensorImpl& tensor) {
  return typeid(tensor) == typeid(c10::TensorImpl) && is_plain(tensor) &&
         tensor.layout() == c10::kStrided && !tensor.key_set().has_any(wrapper_keys);
}

// TensorImpl's own answer knows the devices of torch alone. Module.to relies on it: where it is no,
// parameters become other objects, untied from each other and from their optimizer.
bool has_compatible_shallow_copy_type(const at::Tensor& self, const at::Tensor& from) {
  c10::TensorImpl& ours = *self.unsafeGetTensorImpl();
  const c10::TensorImpl& theirs = *from.unsafeGetTensorImpl();
  return ours.has_compatible_shallow_copy_type(theirs.key_set()) ||
         (is_only_dense(ours) && is_only_dense(theirs));
}

// Functionalization would ask about what its wrappers hold, and they themselves go by TensorImpl's
// answer.
bool wrappers_have_compatible_type(const at::Tensor& self, const at::Tensor& from) {
  return self.unsafeGetTensorImpl()->has_compatible_shallow_copy_type(from.key_set());
}

}  // namespace

void register_tensor_data(registrar& to) {
  constexpr const char* name = "_has_compatible_shallow_copy_type";
  to.add<&has_compatible_shallow_copy_type>(name);
  // No gradient goes through the question.
  to.add<&has_compatible_shallow_copy_type>(name, "", c10::DispatchKey::AutogradPrivateUse1);
  to.add<&wrappers_have_compatible_type>(name, "", c10::DispatchKey::Functionalize);
}

}  // namespace outback::ops
