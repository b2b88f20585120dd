// CUDA's own headers. What they declare is what this library exports, so a definition with a wrong
// signature does not compile.
#pragma once

#pragma GCC visibility push(default)
#define CUDA_ENABLE_DEPRECATED  // deprecated for its callers; somebody has to define it
#include <cuda.h>
#include <cuda_runtime_api.h>
#pragma GCC visibility pop

/// The release whose exported names the library has: 12 or 13. Set by CMake.
#ifndef FAKE_CUDART_MAJOR
#define FAKE_CUDART_MAJOR (CUDART_VERSION / 1000)
#endif
