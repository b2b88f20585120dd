// Registers kernels with the dispatcher, for as long as the process lives.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "backend_template/ops/excluded_operators.h"

namespace outback::ops {

/// Never replaces a kernel: an operator that has one for the key keeps it, whoever wrote it. Nor
/// gives one to the operators that are excluded. Leaked, since the registrations end with it.
class registrar {
 public:
  /// What the dispatcher says of these kernels' origin.
  static constexpr const char* registered_by = "outback";

  explicit registrar(const operator_names& excluded) : excluded_(excluded) {}

  /// `function` as the kernel of aten::`name`.`overload`. An operator that this torch does not have
  /// is left out.
  template <auto* function>
  void add(const char* name, const char* overload = "",
           c10::DispatchKey key = c10::DispatchKey::PrivateUse1) {
    // By its address at run time, though it is known here: what comes between the function and the
    // dispatcher, boxed and not, is then compiled once for each signature instead of each function.
    using type = std::remove_pointer_t<decltype(function)>;
    add_kernel<type>(name, overload, key,
                     c10::KernelFunction::makeFromUnboxedRuntimeFunction(function));
  }

  /// The same for a kernel that is made already, of `Signature`.
  template <class Signature>
  void add_kernel(const char* name, const char* overload, c10::DispatchKey key,
                  c10::KernelFunction kernel) {
    add_signed(name, overload, key, std::move(kernel), c10::impl::CppSignature::make<Signature>());
  }

  /// The same for a boxed kernel.
  void add_boxed(const c10::OperatorHandle& op, c10::DispatchKey key, c10::KernelFunction kernel) {
    if (!op.hasKernelForDispatchKey(key)) keep(op, key, std::move(kernel), std::nullopt);
  }

  /// For operators without a kernel for `key`, of every namespace; kernels that compose others come
  /// before it. Left alone when there is one already.
  void add_fallback(c10::DispatchKey key, c10::KernelFunction kernel);

  static std::optional<c10::OperatorHandle> find(const char* name, const char* overload) {
    return c10::Dispatcher::singleton().findSchema({std::string("aten::") + name, overload});
  }

 private:
  void add_signed(const char* name, const char* overload, c10::DispatchKey key,
                  c10::KernelFunction kernel, c10::impl::CppSignature signature);
  void keep(const c10::OperatorHandle& op, c10::DispatchKey key, c10::KernelFunction kernel,
            std::optional<c10::impl::CppSignature> signature);

  const operator_names& excluded_;
  std::vector<c10::RegistrationHandleRAII> handles_;
};

}  // namespace outback::ops
