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
            stream& on);
/// An ordinary kernel's.
constexpr int registers_of_a_kernel = 32;
/// How many threads a block of it may have.
unsigned threads_of_a_block(call& c, const kernel& of, const device& on);
/// Lets it have so much dynamic shared memory; throws where a block of the device has less.
void allow_shared(call& c, kernel& changed, const device& on, int bytes);
/// How many blocks fit on a multiprocessor: as many as threads and shared memory leave room for.
int blocks_that_fit(call& c, const device& on, int block_size, std::size_t shared);

/// A call of another library's function, which works on the stream: it is in the record. A null
/// `body` computes nothing; another one runs without the lock, and may wait.
void add_call(call& c, const char* name, std::string arguments, stream& on,
              std::function<void()> body);

}  // namespace fake_cuda
