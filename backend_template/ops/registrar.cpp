#include "backend_template/ops/registrar.h"

namespace outback::ops {

void registrar::add_signed(const char* name, const char* overload, c10::DispatchKey key,
                           c10::KernelFunction kernel, c10::impl::CppSignature signature) {
  const std::optional<c10::OperatorHandle> op = find(name, overload);
  if (!op || op->hasKernelForDispatchKey(key)) return;
  keep(*op, key, std::move(kernel), signature);
}

void registrar::keep(const c10::OperatorHandle& op, c10::DispatchKey key,
                     c10::KernelFunction kernel, std::optional<c10::impl::CppSignature> signature) {
  // An autocast kernel computes nothing itself, so an excluded operator may have one.
  const bool is_kernel = key != c10::DispatchKey::AutocastPrivateUse1;
  if (is_kernel && excluded_.count(op.operator_name()) != 0) return;
  handles_.push_back(c10::Dispatcher::singleton().registerImpl(
      op.operator_name(), key, std::move(kernel), signature, nullptr, registered_by));
}

void registrar::add_fallback(c10::DispatchKey key, c10::KernelFunction kernel) {
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  if (dispatcher.hasBackendFallbackForDispatchKey(key)) return;
  handles_.push_back(dispatcher.registerFallback(key, std::move(kernel), registered_by));
}

}  // namespace outback::ops
