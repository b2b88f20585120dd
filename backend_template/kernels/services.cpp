// Finds the backend through PyTorch's hooks for PrivateUse1, which its core implements.
#include "backend_template/kernels/services.h"

#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/util/Exception.h>

namespace outback::kernels {
namespace {

const core::kernel_services& find() {
  TORCH_CHECK(at::isPrivateUse1HooksRegistered(),
              "a native kernel was called, and no backend is registered: import the backend's "
              "package, or call outback::register_backend(), first");
  // The version is a part of the type's name (core/kernel_services.h), so the cast fails for
  // another.
  const auto* found =
      dynamic_cast<const core::kernel_services*>(&at::detail::getPrivateUse1Hooks());
  TORCH_CHECK(found != nullptr,
              "these native kernels were not compiled with the Outback of the backend ",
              c10::get_privateuse1_backend(), ": compile both with one");
  return *found;
}

}  // namespace

const core::kernel_services& services() {
  static const core::kernel_services& found = find();
  return found;
}

}  // namespace outback::kernels
