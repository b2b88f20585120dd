// Says which libcudart was found, and what the runtime makes of it. With an argument, that library
// is loaded first, as torch has loaded its own.
#include <dlfcn.h>

#include <cstdio>
#include <string>

#include "backend_template/runtimes/cuda/cuda.h"
#include "backend_template/runtimes/cuda/library.hpp"
#include "outback/runtime_error.hpp"

int main(int argc, char** argv) {
  if (argc > 1 && dlopen(argv[1], RTLD_LAZY | RTLD_GLOBAL) == nullptr) {
    std::printf("%s\n", dlerror());
    return 1;
  }
  const outback_runtime& t = *outback_cuda_runtime();
  int32_t count = -1;
  const outback_status status = t.device_count(t.self, &count);
  std::string path, problem;
  try {
    const outback::cuda::library& found = outback::cuda::loaded_library();
    path = found.path;
    problem = found.problem;
  } catch (const outback::invalid_argument& error) {
    problem = error.what();
  }
  std::printf("path=%s\nproblem=%s\nstatus=%d\ncount=%d\n", path.c_str(), problem.c_str(), status,
              count);
  void* ptr = nullptr;
  if (t.mem_alloc(t.self, 0, 64, &ptr) != OUTBACK_OK) {
    std::printf("error=%s\n", t.last_error(t.self));
  }
}
