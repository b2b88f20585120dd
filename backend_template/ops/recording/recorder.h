// The recorder: a kernel at a dispatch key of its own (core::recorder_key), which the operators of
// a thread pass while that thread captures. It records those that CPU kernels serve.
#pragma once

namespace outback::ops {

/// Lets core's graphs prepare the recorder when a capture begins. Once, at registration; calls no
/// slot and registers no kernel yet.
void register_recorder();

}  // namespace outback::ops
