// How many threads a CPU kernel may use in autograd's threads.
//
// torch.set_num_threads sets the number of the calling thread, and of threads that start later. The
// backward pass of a device's tensors runs in threads that autograd keeps, unless the CPU's
// kernels run on the device's memory (guard.cpp), so a number that is set after the first backward
// pass would not reach them. On the CPU a backward pass runs in the thread that asks for it and
// uses that thread's number. Here it uses the same number: the caller notes it, and autograd's
// threads take it over before each node. If several threads with different numbers run backward
// passes at once, the number that was noted last counts for all of them.
#pragma once

namespace outback::core {

/// Notes the calling thread's number for autograd's threads. To be called where a backward pass
/// begins. Does nothing in autograd's own threads. Thread-safe.
void note_thread_count();

/// In one of autograd's threads, gives it the number that was noted last. In any other thread it
/// does nothing and costs one thread-local load. Thread-safe.
void follow_thread_count();

/// In a forked child, has torch make its pool of threads anew. To be called before autograd starts
/// its threads, one for each device: each of them asks for the pool, and torch's function that
/// makes it anew after a fork is not thread-safe, so that the process crashes in one of thirty
/// children where there are two devices. Does something once in each child.
void renew_pool_after_fork() noexcept;

}  // namespace outback::core
