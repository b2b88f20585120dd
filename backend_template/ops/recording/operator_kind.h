// Decides what happens to an operator while a stream is captured.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>

namespace outback::ops {

enum class operator_kind : uint8_t {
  device,        // goes on as without a capture: torch composes it of others, it has no work of its
                 // own, or a vendor's kernel puts its work on the stream
  answers_host,  // cannot be captured: the host needs a value or a shape that it computes
  host           // a CPU kernel serves it: host_call.h records it
};

/// Asks on each call, since a library with kernels may be loaded at any time. Thread-safe.
operator_kind kind_of(const c10::OperatorHandle& op);

/// True if the operator has a kernel for this device, the CPU or Meta and a composite one too, and
/// the dispatcher would prefer the composite one at the recorder's key. Such an operator needs the
/// recorder as its own kernel for that key; for all others the key's fallback is enough.
bool hides_its_kernel(const c10::OperatorHandle& op);

}  // namespace outback::ops
