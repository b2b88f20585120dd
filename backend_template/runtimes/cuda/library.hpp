// Which libcudart this process uses.
//
//   1. OUTBACK_CUDART=<path>, and then no other;
//   2. the one that is loaded already, torch's in a Python process: two copies would work, but each
//      keeps its own current device and last error for every thread;
//   3. libcudart.so.13, then libcudart.so.12, as the dynamic loader finds them.
//
// It is never closed.
#pragma once

#include <string>

#include "backend_template/runtimes/cuda/cudart.hpp"

namespace outback::cuda {

struct library {
  cudart functions;
  std::string path;     // "" where there is none
  std::string problem;  // why there is none, and what to do
};

/// Looks once, with the environment of the first call; calls nothing of the library but its
/// version. The answer lives as long as the process.
const library& loaded_library();

/// A shared object that is loaded in this process and whose file is called libcudart.so* or
/// libcudart-*.so*, as wheels rename it. "" where there is none.
std::string loaded_cudart_path();

}  // namespace outback::cuda
