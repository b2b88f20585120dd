#include "backend_template/core/interfaces/thread_count.h"

#include <ATen/Parallel.h>
#include <c10/util/thread_name.h>

#include <atomic>
#include <exception>
#include <string_view>

#include "backend_template/core/devices/lazy_start.h"

namespace outback::core {
namespace {

// 0: no backward pass has begun yet. Relaxed: the queue that hands the nodes to autograd's threads
// orders this as well.
std::atomic<int> wanted_threads{0};

// Autograd names its threads, and tells them apart in no other way that is public.
bool is_autograds() {
  thread_local const bool is_one =
      std::string_view(c10::getThreadName()).starts_with("pt_autograd_");
  return is_one;
}

}  // namespace

void note_thread_count() {
  if (!is_autograds()) wanted_threads.store(at::get_num_threads(), std::memory_order_relaxed);
}

void renew_pool_after_fork() noexcept {
  if (!is_first_look_after_fork()) return;
  try {
    at::init_num_threads();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
    // Another thread of the program's is at the same, and makes it; or there is no memory for it.
  }
}

void follow_thread_count() {
  if (!is_autograds()) return;
  const int wanted = wanted_threads.load(std::memory_order_relaxed);
  if (wanted > 0 && wanted != at::get_num_threads()) at::set_num_threads(wanted);
}

}  // namespace outback::core
