// An operator that a CPU kernel serves, as a step of a graph.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/Device.h>

#include "backend_template/core/graphs/capture.h"

namespace outback::ops {

/// Runs the operator on what the stack holds, as a kernel does, and adds it to the capture's
/// program: each replay runs it again on the same memory. Results are allocated from the capture's
/// pool. What the operator changes of memory that was there before is put back when the capture
/// ends. Throws, and breaks the capture, for what a replay could not do: tensors of several
/// devices, sparse ones, pageable CPU tensors.
void record_host_call(const c10::OperatorHandle& op, core::capture& open, c10::Device device,
                      torch::jit::Stack& stack);

/// Breaks the capture and throws c10::Error that names the operator.
[[noreturn]] void refuse_operator(core::capture& open, const c10::OperatorHandle& op,
                                  const char* why);

}  // namespace outback::ops
