// What every entry point does first and last: the lock, planned faults, the last error.
#pragma once

#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "tests/fakes/cudart/machine.hpp"
#include "tests/fakes/cudart/thread.hpp"

namespace fake_cuda {

/// One call of an entry point, with the machine's lock.
struct call {
  explicit call(const char* name) : entry_point(name), m(the_machine()), lock(m.mutex) {}

  const char* const entry_point;
  machine& m;
  // What a graph kept may call its owner when it goes: without the lock.
  std::vector<std::shared_ptr<void>> released;
  std::unique_lock<std::mutex> lock;
};

enum class entry {
  plain,
  release,  // frees, destroys or closes: a planned fault is the answer, and it is done all the same
  free_of_driver  // works on a machine without a driver, and in a forked child
};

/// Runs `body(call)`. Its failures and planned faults become the answer and the thread's last
/// error.
template <class Body>
cudaError_t enter(const char* name, entry kind, const Body& body) noexcept {
  call c(name);
  thread_state& thread = this_thread();
  cudaError_t error = cudaSuccess;
  try {
    const std::optional<int> planned = c.m.faults.next(name);
    if (planned && kind != entry::release) throw failure(cudaError_t(*planned));
    if (thread.in_host_function) {
      throw misuse(cudaErrorNotPermitted, "called in a host function, which may not call CUDA");
    }
    if (kind != entry::free_of_driver) c.m.init_driver();
    body(c);
    if (planned) throw failure(cudaError_t(*planned));
  } catch (const misuse& wrong) {
    c.m.violations.add_misuse(name, wrong.text());
    error = wrong.error();
  } catch (const refusal& wrong) {
    c.m.violations.add_refusal(name, wrong.text());
    error = wrong.error();
  } catch (const failure& failed) {
    error = failed.error();
  } catch (const std::bad_alloc&) {
    error = cudaErrorMemoryAllocation;
  }
  if (error != cudaSuccess) thread.last_error = error;
  return error;
}

template <class Body>
cudaError_t enter(const char* name, const Body& body) noexcept {
  return enter(name, entry::plain, body);
}

}  // namespace fake_cuda
