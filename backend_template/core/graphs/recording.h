// The interface between graphs and operators. Operators that CPU kernels serve put nothing on a
// stream, so the runtime cannot record them. ops/recording intercepts them at a dispatch key of its
// own and records each operator as a callback in the graph.
//
// The dispatcher routes a thread's operators to this key while the thread includes the key. The key
// is only a hint: an operator is recorded if `capture_of` finds a capture on its stream.
#pragma once

#include <c10/core/DispatchKey.h>

#include <cstdint>

namespace outback::core {

/// The dispatch key at which ops/recording sees operators. It lies below autograd and autocast and
/// above the devices' dense kernels. A thread includes the key while it captures, and autograd's
/// threads inherit the key. PyTorch's DispatchKey.h reserves the key for use out of tree, and no
/// device of PyTorch uses it.
inline constexpr c10::DispatchKey recorder_key = c10::DispatchKey::CustomRNGKeyId;

/// Sets the function that registers the recorder's kernels. It is called when a capture that
/// records operators begins; without it no operators are recorded. Registration calls
/// set_operator_recorder. Thread-safe, as are all functions here.
void set_operator_recorder(void (*prepare)()) noexcept;
/// Returns the function of `set_operator_recorder`, or null.
using recorder_preparation = void (*)();
recorder_preparation operator_recorder() noexcept;

/// Routes the calling thread's operators to the recorder. Returns a number that only this thread
/// has, for capture::properties::recorded_by.
uint64_t enter_recorder() noexcept;

/// Stops routing the calling thread's operators to the recorder, unless an open capture records
/// them. The end of a capture calls it. The recorder calls it too, for an operator outside any
/// capture. Such an operator arrives if another thread, which cannot change this thread's dispatch
/// keys, ended the capture by destroying the graph, or if a guard restored the keys.
void leave_recorder_if_over() noexcept;

}  // namespace outback::core
