// The seam between graphs and operators. Operators that CPU kernels serve put nothing on a stream,
// so the runtime cannot record them. ops/recording takes them at a dispatch key of its own and
// records each as a callback in the graph.
//
// A thread's operators come to that key while the key is in the thread's dispatch keys. That is a
// hint alone: whether an operator is recorded is what `capture_of` says of its stream.
#pragma once

#include <c10/core/DispatchKey.h>

#include <cstdint>

namespace outback::core {

/// The dispatch key at which ops/recording sees operators. It lies below autograd and autocast and
/// above the devices' dense kernels. It is set for a thread while that thread captures, and
/// autograd's threads inherit it. PyTorch's DispatchKey.h intends it for use out of tree, and none
/// of PyTorch's own devices uses it.
inline constexpr c10::DispatchKey recorder_key = c10::DispatchKey::CustomRNGKeyId;

/// Sets the function that is called when a capture begins that records operators; it registers the
/// recorder's kernels. Without it no operators are recorded. Registration calls it. Thread-safe, as
/// are all functions here.
void set_operator_recorder(void (*prepare)()) noexcept;
/// Returns that function, or null.
using recorder_preparation = void (*)();
recorder_preparation operator_recorder() noexcept;

/// Brings the calling thread's operators to the recorder. Returns the thread's number, which the
/// capture is opened with (capture::properties::recorded_by): no other thread has it.
uint64_t enter_recorder() noexcept;

/// Takes the calling thread's operators away from the recorder, if no capture is open any more that
/// records them. Whoever ends a capture calls it; and the recorder does, for an operator that is in
/// no capture: another thread, which cannot change this thread's dispatch keys, may have ended the
/// capture by destroying the graph, or a guard may have put the keys back that it found.
void leave_recorder_if_over() noexcept;

}  // namespace outback::core
