// Launches of kernels, of whatever entry point asked for them.
#pragma once

#include "tests/fakes/cudart/enqueue.hpp"
#include "tests/fakes/cudart/kernels.hpp"

namespace fake_cuda {

/// By the address of the function that stands for it. Throws where there is none.
kernel& find_kernel(call& c, const void* host);

/// Enqueues it with the parameters that `arguments` point to, which are read before this returns.
/// A kernel without a body computes nothing and takes no time.
void launch(call& c, const kernel& launched, const kernel_shape& shape, void** arguments,
            cudaStream_t on);

/// A call of another library's function, which works on the stream: it is in the record, and
/// computes nothing.
void add_call(call& c, const char* name, std::string arguments, stream& on);

}  // namespace fake_cuda
