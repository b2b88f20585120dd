// Finds the libcudart that this process uses, in this order:
//
// 1. OUTBACK_CUDART=<path>. If it is set, no other place is tried.
// 2. The libcudart that is loaded already, usually by torch in a Python process. Two copies would
//    work, but each keeps its own current device and last error for every thread.
// 3. The libcudart of NVIDIA's wheels, in the folder of Python packages that contains torch or this
//    library. A CPU build of torch loads no libcudart, and the dynamic loader does not search that
//    folder.
// 4. libcudart.so.13, then libcudart.so.12, as the dynamic loader finds them.
// 5. The same two files in /usr/local/cuda/lib64, which the loader may not know.
//
// The library is never closed.
#pragma once

#include <string>

#include "backend_template/runtimes/cuda/cudart.hpp"

namespace outback::cuda {

/// The functions of libcudart, or the reason why they are missing.
struct library {
  cudart functions;
  std::string path;     // of the opened file; "" if no file can be used
  std::string problem;  // "", or why no file can be used, and the remedy
};

/// The first call opens the library, with the environment of that moment. All calls return the same
/// object, which lives until the process ends. The only function that is called in the library is
/// cudaRuntimeGetVersion, so CUDA does not start. May be called from any thread. Throws
/// outback::invalid_argument for a malformed OUTBACK_CUDART; does not throw for a missing library.
const library& loaded_library();

/// Returns "12.8" for 12080, CUDA's way of numbering its versions.
std::string version_text(int version);

/// Returns the path of a shared object that this process has loaded and whose file is named
/// libcudart.so* or libcudart-*.so* (wheels rename it); "" if there is none.
std::string loaded_cudart_path();

}  // namespace outback::cuda
