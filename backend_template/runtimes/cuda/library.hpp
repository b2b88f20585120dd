// Finds the libcudart that this process uses, in this order:
//
// 1. OUTBACK_CUDART=<path>, and then no other.
// 2. The one that is loaded already, in a Python process torch's. Two copies would work, but each
//    keeps a current device and a last error of its own for every thread.
// 3. That of NVIDIA's wheels, in the folder of Python packages that torch or this library is in. A
//    torch for the CPU loads no libcudart, and the dynamic loader does not look there.
// 4. libcudart.so.13, then libcudart.so.12, as the dynamic loader finds them.
// 5. The same two in /usr/local/cuda/lib64, which the loader may not know.
//
// The library is never closed.
#pragma once

#include <string>

#include "backend_template/runtimes/cuda/cudart.hpp"

namespace outback::cuda {

/// The functions of libcudart, or why there are none.
struct library {
  cudart functions;
  std::string path;     // of the file that was opened; "" if none can be used
  std::string problem;  // "", or why none can be used and what to do
};

/// Opens the library on the first call, with the environment of that time, and returns the same
/// object from then on. It calls no function of the library but cudaRuntimeGetVersion, so it does
/// not start CUDA. Lives until the process ends. May be called from any thread; throws
/// outback::invalid_argument for a malformed OUTBACK_CUDART, and does not throw for a missing
/// library.
const library& loaded_library();

/// Returns "12.8" for 12080, CUDA's way of numbering its versions.
std::string version_text(int version);

/// Returns the path of a shared object that is loaded in this process and whose file is named
/// libcudart.so* or libcudart-*.so* (wheels rename it), or "" where there is none.
std::string loaded_cudart_path();

}  // namespace outback::cuda
