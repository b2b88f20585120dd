// Records an operator that a CPU kernel serves as a step of a graph. The recorder calls it for each
// operator of that kind while a stream is captured.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/Device.h>

#include "backend_template/core/captures/capture.h"

namespace outback::ops {

/// Runs the operator on the arguments on the stack and replaces them by the results, as a boxed
/// kernel does. Adds the call to the capture's program, so each replay runs it again on the same
/// memory. Results are allocated from the capture's pool. If the operator changes memory that
/// existed before the capture, the capture's end restores the old bytes.
///
/// Throws c10::Error, and breaks the capture, if a replay could not repeat the call: tensors of
/// several devices, tensors that are not strided, a Storage argument, a pageable CPU tensor, or an
/// operator without a CPU kernel. `device` is the device of the capture's stream.
void record_host_call(const c10::OperatorHandle& op, core::capture& open, c10::Device device,
                      torch::jit::Stack& stack);

/// Breaks the capture and throws c10::Error: "<operator> cannot be captured: `why`".
[[noreturn]] void refuse_operator(core::capture& open, const c10::OperatorHandle& op,
                                  const char* why);

}  // namespace outback::ops
