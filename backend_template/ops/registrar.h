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

/// Adds kernels but never replaces one: if an operator has a kernel for the key already, the
/// operator keeps it. So earlier calls take precedence over later ones. An excluded operator gets
/// no kernel, except for autocast's key (see register_autocast).
///
/// The destructor would end the registrations, so the owner leaks the registrar. Not thread-safe.
class registrar {
 public:
  /// The beginning of the dispatcher's debug text for these kernels, by which `serves` recognizes
  /// them.
  static constexpr const char* registered_by = "outback";
  /// The text for kernels that are written for the device (own/), for the operator report.
  static constexpr const char* registered_as_own = "outback, own";
  /// The text for portable kernels (portable/), which decline what they do not serve.
  static constexpr const char* registered_as_portable = "outback, portable";

  /// `excluded` must live as long as the registrar.
  explicit registrar(const operator_names& excluded) : excluded_(excluded) {}

  /// Sets the dispatcher's debug text for the kernels that are added later: one of the three above.
  void set_text(const char* text) { text_ = text; }

  /// Leaves these operators out of what is added later. `names` must live as long; null: no more.
  void leave_out(const operator_names* names) { left_out_ = names; }

  /// Registers `function` as the kernel of aten::`name`.`overload` for `key`. Does nothing if this
  /// torch has no such operator, so that one source serves several releases. Throws c10::Error,
  /// from the dispatcher, if the operator has a kernel with another C++ signature.
  template <auto* function>
  void add(const char* name, const char* overload = "",
           c10::DispatchKey key = c10::DispatchKey::PrivateUse1) {
    // Passed as a run-time function, though it is known at compile time: the compiler then makes
    // the boxed and unboxed wrappers for the dispatcher once per signature instead of once per
    // function.
    using type = std::remove_pointer_t<decltype(function)>;
    add_kernel(name, overload, key, c10::KernelFunction::makeFromUnboxedRuntimeFunction(function),
               c10::impl::CppSignature::make<type>());
  }

  /// Does the same for `Operator`, a struct of at::_ops, with its own signature.
  template <class Operator, typename Operator::schema* function>
  void add() {
    add<function>(Operator::name + std::string_view("aten::").size(), Operator::overload_name);
  }

  /// Does the same for an existing kernel. `signature` is the signature of its C++ function; the
  /// dispatcher compares it with the schema and with typed calls.
  void add_kernel(const char* name, const char* overload, c10::DispatchKey key,
                  c10::KernelFunction kernel, c10::impl::CppSignature signature);

  /// Does the same for a boxed kernel, which has no C++ signature.
  void add_boxed(const c10::OperatorHandle& op, c10::DispatchKey key, c10::KernelFunction kernel) {
    keep(op, key, std::move(kernel), std::nullopt);
  }

  /// Registers the backend fallback of `key`: the kernel of all operators, in every namespace, that
  /// have no kernel for the key. Composite kernels take precedence over a fallback. Does nothing if
  /// the key has a fallback already.
  void add_fallback(c10::DispatchKey key, c10::KernelFunction kernel);

  /// Returns the operator aten::`name`.`overload`, or std::nullopt if this torch does not have it.
  static std::optional<c10::OperatorHandle> find(const char* name, const char* overload) {
    return c10::Dispatcher::singleton().findSchema({std::string("aten::") + name, overload});
  }

  /// Returns all operators with a schema, in every namespace. A handle becomes invalid when its
  /// operator is deregistered, so do not keep the handles.
  static std::vector<c10::OperatorHandle> all_operators();

  /// Returns true if the dispatcher calls a registrar's kernel for the operator on the device's
  /// dense tensors, and false once a vendor has replaced it. The result is kept until the process
  /// loads another library. So a kernel that Python registers after the first query for its
  /// operator goes unnoticed. Thread-safe.
  static bool serves(const c10::OperatorHandle& op);

 private:
  void keep(const c10::OperatorHandle& op, c10::DispatchKey key, c10::KernelFunction kernel,
            std::optional<c10::impl::CppSignature> signature);

  const operator_names& excluded_;
  const operator_names* left_out_ = nullptr;
  const char* text_ = registered_by;
  std::vector<c10::RegistrationHandleRAII> handles_;  // each destructor unregisters a kernel
};

}  // namespace outback::ops
