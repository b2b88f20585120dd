// The runtime's table, for a kernel that calls slots itself, and the conversion of a slot's status
// to an exception.
#pragma once

#include "outback/runtime.h"

namespace outback::kernels {

/// Returns the table of the registered backend, including the layers that the environment asks for.
/// So its slots take torch's device indices, and calls are checked and traced like all others. An
/// absent group is null. The table is valid until the process ends, and its slots may be called
/// from any thread.
///
/// Throws c10::Error if no backend is registered, or if these kernels and the backend were compiled
/// with versions of Outback that have different interfaces for kernels.
const outback_runtime& runtime();

/// Throws if `status` is not OUTBACK_OK; the text has `slot`, the name of the slot that returned
/// `status`, and the driver's words. Call it on the thread that called the slot, before that thread
/// calls another slot: each thread has its own last_error. The exceptions in C++ and in Python are:
///   OUTBACK_OUT_OF_MEMORY     c10::OutOfMemoryError     torch.OutOfMemoryError
///   OUTBACK_UNSUPPORTED       c10::NotImplementedError  NotImplementedError
///   OUTBACK_INVALID_ARGUMENT  c10::Error                RuntimeError
///   any other status          c10::AcceleratorError     torch.AcceleratorError
void check(outback_status status, const char* slot);

}  // namespace outback::kernels
