#include "backend_template/runtimes/cuda/fork_count.hpp"

#include <pthread.h>

#include <atomic>

namespace outback::cuda {
namespace {
std::atomic<uint32_t> cuda_forks{0};
}

uint32_t fork_count() noexcept {
  // No handler (out of memory) means that a child gets CUDA's own error: not worth an abort.
  [[maybe_unused]] static const int registered =
      pthread_atfork(nullptr, nullptr, [] { cuda_forks.fetch_add(1, std::memory_order_relaxed); });
  return cuda_forks.load(std::memory_order_relaxed);
}

}  // namespace outback::cuda
