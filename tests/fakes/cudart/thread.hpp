// What CUDA keeps for each thread: the device, the stack of contexts, the last error, the mode of
// captures, the thread's default streams, launches that are being made.
#pragma once

#include <map>
#include <vector>

#include "tests/fakes/cudart/machine.hpp"

namespace fake_cuda {

/// A launch that waits for its kernel.
struct pushed_launch {
  kernel_shape shape;
  cudaStream_t on;
};

struct thread_state {
  int device = 0;             // of cudaSetDevice
  std::vector<int> contexts;  // of the driver: indices of devices, or -1 for none
  cudaError_t last_error = cudaSuccess;
  cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;
  std::map<int, stream_ptr> streams;  // cudaStreamPerThread, by device
  bool in_host_function = false;
  std::vector<pushed_launch> pushed_launches;
};
thread_state& this_thread();

/// The device of the thread's current context; null where it has none.
device* context_device(machine& m);
/// As every call of the runtime that needs a context: the current one, or else the primary context
/// of the thread's device, which is made and becomes current. Throws if the device is lost.
device& need_context(machine& m);
/// The runtime holds the primary context from its first use of a device on.
void hold_for_runtime(machine& m, device& held);
/// Makes the primary context of `chosen` the current one; null: none.
void set_context(device* chosen);

CUcontext context_of(const device& held);
/// The device of that context; null where it is none.
device* device_of(machine& m, CUcontext context);

}  // namespace fake_cuda
