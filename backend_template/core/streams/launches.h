// Notes the work that an operator has put on a stream. With OUTBACK_LAUNCH_BLOCKING the operator
// waits for its work. Then failed work makes the operator that launched it fail, with the
// operator's name in the error, and not a later call that happens to wait. Use the variable to find
// errors: it makes a program slow.
#pragma once

#include <c10/core/Stream.h>
#include <c10/macros/Macros.h>

#include "backend_template/core/runtime/launch_blocking.h"
#include "backend_template/core/streams/stream.h"

namespace outback::core {

namespace detail {
// The slow path of `mark_launched`.
void wait_for_launch(const c10::Stream& stream);
}  // namespace detail

/// Reads OUTBACK_LAUNCH_BLOCKING, a flag. Throws c10::ValueError if it is malformed. Registration
/// calls it once.
void read_launch_blocking();

/// Does what `mark_busy` does, for an operator's work: a copy, a fill, the launch of a kernel or of
/// a graph. With the variable it then waits for the stream, unless the stream is in a capture, and
/// throws what `synchronize_stream` throws, with the name of the thread's current operator.
inline void mark_launched(const c10::Stream& stream) {
  mark_busy(stream);
  if (C10_UNLIKELY(is_launch_blocking())) detail::wait_for_launch(stream);
}

/// Does the same for callers that must not throw, such as the destructor of kernel_stream: keeps a
/// failure for the next call that waits for the device (host_failure.h).
void mark_launched_quietly(const c10::Stream& stream) noexcept;

}  // namespace outback::core
