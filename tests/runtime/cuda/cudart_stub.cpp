// A libcudart on a machine without a driver: it has every function that the runtime looks for, and
// finds no device. CMake says which version it is of; with OUTBACK_STUB_EMPTY it has nothing else.
#include <cstring>

#include "backend_template/runtimes/cuda/cudart.hpp"

namespace {

long answer(const char* function, int* first) {
  if (std::strcmp(function, "cudaRuntimeGetVersion") == 0) {
    *first = OUTBACK_STUB_VERSION;
    return cudaSuccess;
  }
  if (std::strcmp(function, "cudaGetErrorName") == 0) return reinterpret_cast<long>("stubError");
  if (std::strcmp(function, "cudaGetErrorString") == 0) return reinterpret_cast<long>("no device");
  return cudaErrorNoDevice;
}

}  // namespace

// Named in assembly, since the headers declare what they really look like.
#define OUTBACK_STUB(name)                                                                   \
  extern "C" __attribute__((visibility("default"))) long stub_##name(int* first) asm(#name); \
  long stub_##name(int* first) {                                                             \
    return answer(#name, first);                                                             \
  }

#ifdef OUTBACK_STUB_EMPTY
OUTBACK_STUB(cudaRuntimeGetVersion)
#else
OUTBACK_CUDART_REQUIRED(OUTBACK_STUB)
#endif
