#include "tests/runtime/cuda/fake.hpp"

#include <dlfcn.h>

#include <stdexcept>
#include <string>

#include "backend_template/runtimes/cuda/library.hpp"
#include "tests/runtime/cuda/fake_choice.hpp"

namespace outback::cuda {
namespace {

template <class F>
void find(void* handle, const char* name, F*& function) {
  function = reinterpret_cast<F*>(dlsym(handle, name));
  if (function == nullptr) throw std::runtime_error(std::string("the fake has no ") + name);
}

fake_functions opened() {
  choose_fake_libraries();
  void* handle = dlopen(std::getenv("OUTBACK_CUDART"), RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) throw std::runtime_error(dlerror());
  fake_functions f = {};
  find(handle, "fake_cudart_fail", f.fail);
  find(handle, "fake_cudart_clear_faults", f.clear_faults);
  find(handle, "fake_cudart_revive", f.revive);
  find(handle, "fake_cudart_calls", f.calls);
  find(handle, "fake_cudart_violations", f.violations);
  find(handle, "fake_cudart_violation", f.violation);
  find(handle, "fake_cudart_live", f.live);
  find(handle, "fake_cudart_context_active", f.context_active);
  find(handle, "fake_cudart_memory_used", f.memory_used);
  find(handle, "cudaGetDevice", f.get_device);
  find(handle, "cudaStreamGetFlags", f.stream_flags);
  find(handle, "cudaStreamGetPriority", f.stream_priority);
  return f;
}

}  // namespace

const fake_functions& fake() {
  static const fake_functions functions = opened();
  return functions;
}

const cudart& fake_cuda_functions() {
  fake();
  return loaded_library().functions;
}

const driver& fake_driver() {
  static const driver functions = find_driver(fake_cuda_functions());
  return functions;
}

}  // namespace outback::cuda
