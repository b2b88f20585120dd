// Which libcudart this process uses.
//
//   1. OUTBACK_CUDART=<path>, and then no other;
//   2. the one that is loaded already, torch's in a Python process: two copies would work, but each
//      keeps its own current device and last error for every thread;
//   3. that of NVIDIA's wheels, in the folder of Python's packages that torch or this library is
//      in: a torch for the CPU loads none, and no loader looks there;
//   4. libcudart.so.13, then libcudart.so.12, as the dynamic loader finds them;
//   5. the same in /usr/local/cuda, which is not always the loader's to know.
//
// It is never closed.
#pragma once

#include <string>

#include "backend_template/runtimes/cuda/cudart.hpp"

namespace outback::cuda {

struct library {
  cudart functions;
  std::string path;     // "" where there is none
  std::string problem;  // why there is none, where was looked, and what to do
};

/// Looks once, with the environment of the first call; calls nothing of the library but its
/// version. The answer lives as long as the process.
const library& loaded_library();

/// "12.8", as CUDA numbers its versions: 12080.
std::string version_text(int version);

/// A shared object that is loaded in this process and whose file is called libcudart.so* or
/// libcudart-*.so*, as wheels rename it. "" where there is none.
std::string loaded_cudart_path();

}  // namespace outback::cuda
