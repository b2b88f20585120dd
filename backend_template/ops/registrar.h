// Registers kernels with torch's dispatcher until the process ends. Every file of ops/ that has
// kernels gets a registrar and adds them to it.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "backend_template/ops/excluded_operators.h"

namespace outback::ops {

/// Adds kernels and never replaces one: if an operator has a kernel for the key, it keeps that
/// kernel, whoever wrote it. So the order of the calls is an order of precedence. An excluded
/// operator gets no kernel, except for autocast's key (see register_autocast).
///
/// The registrations end when the registrar dies, so its owner leaks it. Not thread-safe.
class registrar {
 public:
  /// How the dispatcher's debug text for these kernels begins. `serves` knows them by it.
  static constexpr const char* registered_by = "outback";
  /// The text for kernels that are written for the device (own/), for the operator report.
  static constexpr const char* registered_as_own = "outback, own";

  /// `excluded` must live as long as the registrar.
  explicit registrar(const operator_names& excluded) : excluded_(excluded) {}

  /// Says whether the kernels that are added from now on are written for the device, or run those
  /// of another device type, as at first.
  void set_own(bool are_own) { text_ = are_own ? registered_as_own : registered_by; }

  /// Registers `function` as the kernel of aten::`name`.`overload` for `key`. Does nothing if this
  /// torch has no such operator, so that one source serves several releases. Throws c10::Error,
  /// from the dispatcher, if the operator has a kernel with another C++ signature.
  template <auto* function>
  void add(const char* name, const char* overload = "",
           c10::DispatchKey key = c10::DispatchKey::PrivateUse1) {
    // As a run-time function, though it is known at compile time: the compiler then makes the
    // wrappers between the function and the dispatcher, boxed and unboxed, once for each signature
    // instead of once for each function.
    using type = std::remove_pointer_t<decltype(function)>;
    add_kernel(name, overload, key, c10::KernelFunction::makeFromUnboxedRuntimeFunction(function),
               c10::impl::CppSignature::make<type>());
  }

  /// The same for the operator `Operator`, a struct of at::_ops, with its own signature.
  template <class Operator, typename Operator::schema* function>
  void add() {
    add<function>(Operator::name + std::string_view("aten::").size(), Operator::overload_name);
  }

  /// The same for a kernel that is made already. `signature` is that of its C++ function; the
  /// dispatcher compares it with the schema and with typed calls.
  void add_kernel(const char* name, const char* overload, c10::DispatchKey key,
                  c10::KernelFunction kernel, c10::impl::CppSignature signature);

  /// The same for a boxed kernel, which has no C++ signature.
  void add_boxed(const c10::OperatorHandle& op, c10::DispatchKey key, c10::KernelFunction kernel) {
    if (!op.hasKernelForDispatchKey(key)) keep(op, key, std::move(kernel), std::nullopt);
  }

  /// Registers the backend fallback of `key`: the kernel of all operators, of every namespace, that
  /// have none for the key. Composite kernels come before a fallback. Does nothing if the key has a
  /// fallback already.
  void add_fallback(c10::DispatchKey key, c10::KernelFunction kernel);

  /// The operator aten::`name`.`overload`, or nothing if this torch does not have it.
  static std::optional<c10::OperatorHandle> find(const char* name, const char* overload) {
    return c10::Dispatcher::singleton().findSchema({std::string("aten::") + name, overload});
  }

  /// All operators that have a schema, of every namespace. A handle is void once its operator is
  /// deregistered, so nobody keeps them.
  static std::vector<c10::OperatorHandle> all_operators();

  /// True if the dispatcher calls a registrar's kernel for the operator on the device's dense
  /// tensors. False once a vendor has replaced it, which is seen when the process has loaded
  /// another library since the last call: a kernel that Python registers is not seen after the
  /// operator was first asked for. Thread-safe.
  static bool serves(const c10::OperatorHandle& op);

 private:
  void keep(const c10::OperatorHandle& op, c10::DispatchKey key, c10::KernelFunction kernel,
            std::optional<c10::impl::CppSignature> signature);

  const operator_names& excluded_;
  const char* text_ = registered_by;
  std::vector<c10::RegistrationHandleRAII> handles_;  // each one's destructor unregisters a kernel
};

}  // namespace outback::ops
