// How many threads a CPU kernel may use in autograd's threads.
//
// torch.set_num_threads sets the thread count of the calling thread, and of threads that start
// later. The backward pass of a device's tensors runs in threads that autograd keeps, unless the
// CPU's kernels run on the device's memory (guard.cpp), so a count that is set after the first
// backward pass would not reach them. On the CPU a backward pass runs in the thread that calls it
// and uses that thread's count. To use the same count here, the calling thread notes its count, and
// autograd's threads take it over before each node. If several threads with different counts run
// backward passes at once, all use the count noted last.
#pragma once

namespace outback::core {

/// Notes the calling thread's count for autograd's threads. Call it where a backward pass begins.
/// Does nothing in autograd's own threads. Thread-safe.
void note_thread_count();

/// In one of autograd's threads, sets the thread's count to the one noted last. In any other thread
/// it does nothing and costs one thread-local load. Thread-safe.
void follow_thread_count();

/// In a forked child, makes torch renew its thread pool; only the first call in a child does so.
/// Call it before autograd starts its threads, one for each device. Each of them asks torch for the
/// pool, and torch's renewal after a fork is not thread-safe: with two devices, one child in thirty
/// would crash.
void renew_pool_after_fork() noexcept;

}  // namespace outback::core
