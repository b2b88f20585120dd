// Decides what happens to an operator while a stream is captured.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>

namespace outback::ops {

enum class operator_kind : uint8_t {
  device,  // runs as without a capture: torch composes it of others, it has no work of its own,
           // or a vendor's kernel puts its work on the stream
  answers_host,  // cannot be captured: the host needs a value or a shape that the operator computes
  host           // a CPU kernel serves it: host_call.h records it
};

/// Returns the kind of the operator. Asks the dispatcher on each call, since a library with kernels
/// may be loaded at any time. Thread-safe.
operator_kind kind_of(const c10::OperatorHandle& op);

/// Returns the kind of an operator whose call a vendor's kernel has declined: that of the kernel
/// that comes after it. Never `answers_host`, which `kind_of` has told before the vendor's kernel
/// ran. Thread-safe.
operator_kind kind_after_vendor(const c10::OperatorHandle& op);

/// Returns true if the operator has both a composite kernel and a kernel for this device, the CPU
/// or Meta, and the dispatcher would choose the composite kernel at the recorder's key. Such an
/// operator needs the recorder registered as its kernel for that key; all others use the key's
/// fallback.
bool hides_its_kernel(const c10::OperatorHandle& op);

}  // namespace outback::ops
