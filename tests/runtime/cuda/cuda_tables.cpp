// CUDA runtimes on the fake libcudart, for the suite.
#include "backend_template/runtimes/cuda/cuda.h"
#include "outback/layers.hpp"
#include "tests/runtime/cuda/fake_choice.hpp"

namespace {

// A wrong use of CUDA ends the process at once, and what nobody has freed makes it fail in the end.
// Not streams: the default ones of the devices stay on purpose.
void be_strict() {
  setenv("FAKE_CUDART_STRICT", "1", 0);
  setenv("FAKE_CUDART_LEAKS", "memory,pinned,registrations,imports,events,graphs,execs", 0);
}

}  // namespace

extern "C" const outback_runtime* outback_test_cuda(void) {
  be_strict();
  outback::cuda::choose_fake_libraries();
  return outback_cuda_runtime();
}

// Work in every order that streams and events allow.
extern "C" const outback_runtime* outback_test_cuda_adversarial(void) {
  setenv("FAKE_CUDA_ADVERSARIAL", "1", 0);
  // What is fresh is full of 0xa5, so that MemoryTest writes ten times what there is.
  setenv("FAKE_CUDA_MEMORY", "96M", 0);
  return outback_test_cuda();
}

extern "C" const outback_runtime* outback_test_cuda_validated(void) {
  // Not graphs: a test that is known to fail gets one that it does not expect.
  setenv("FAKE_CUDART_LEAKS", "memory,pinned,registrations,imports,events,execs", 0);
  static const outback_runtime* table = outback::layers::validate(outback_test_cuda());
  return table;
}
