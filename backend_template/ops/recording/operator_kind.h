// What becomes of an operator in a capture.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>

namespace outback::ops {

enum class operator_kind : uint8_t {
  device,        // runs as ever: composed of others, without work of its own, or a vendor's kernel
  answers_host,  // cannot be captured: the host waits for what it computes
  host           // a CPU kernel serves it, which is recorded
};

operator_kind kind_of(const c10::OperatorHandle& op);

/// True when the device has a kernel that a composed one would come before at the recorder's key.
bool hides_its_kernel(const c10::OperatorHandle& op);

}  // namespace outback::ops
