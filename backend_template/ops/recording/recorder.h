// Brings the operators of a thread that captures to their recording.
#pragma once

namespace outback::ops {

/// Lets graphs record operators that CPU kernels serve. At registration; makes no driver call.
void register_recorder();

}  // namespace outback::ops
