#include "backend_template/module/at_exit.h"

#include <ATen/ops/empty.h>
#include <c10/core/AutogradState.h>
#include <pybind11/pybind11.h>
#include <torch/csrc/autograd/autograd.h>

#include <chrono>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/graphs/host_program.h"
#include "backend_template/python/imported.h"

namespace py = pybind11;

namespace outback::python {
namespace {

constexpr std::chrono::seconds kForReplays{5};

// True if autograd has started its threads, one for each device, which it does at the first
// backward. torch gives them names ("pt_autograd_0") but no way to ask for them. A forked child has
// none.
bool autograd_threads_exist() {
  std::error_code failed;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", failed)) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (name.starts_with("pt_autograd")) return true;
  }
  return false;
}

// Runs a backward pass without elements through the thread of each device.
void run_empty_backward() {
  torch::autograd::variable_list roots;
  torch::autograd::variable_list gradients;
  for (c10::DeviceIndex i = 0; i < core::device_count(); ++i) {
    const auto options = at::TensorOptions(c10::Device(core::device_type, i));
    const at::Tensor leaf = at::empty({0}, options).requires_grad_(true);
    roots.push_back(leaf.view({0}));
    gradients.push_back(at::empty({0}, options));
  }
  // Through those threads also where a backward pass would run in this one
  // (core/interfaces/guard.cpp).
  c10::AutogradState::get_tls_state().set_multithreading_enabled(true);
  torch::autograd::backward(roots, gradients);
}

// Makes autograd's threads drop the state of their last backward pass. backward() returns before
// the thread that finished it has done so, and that state holds a Python object. Dropping it takes
// the GIL; if the interpreter has begun to end by then, Python ends the thread, through C++ frames
// that cannot be unwound: std::terminate. One more backward pass proves that each thread has gone
// on. It starts on a thread that has never run Python, so its own state holds no Python object.
void settle_autograd() {
  if (!core::is_started() || !autograd_threads_exist()) return;
  const py::gil_scoped_release no_gil;
  std::thread([] {
    try {
      run_empty_backward();
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
      // A lost device must not keep the process from ending.
    }
  }).join();
}

// A replay runs operators that are written in Python on a thread of the runtime's, which must not
// ask for the GIL when the interpreter has begun to end.
void settle() {
  core::host_program::wait_for_all(std::chrono::steady_clock::now() + kForReplays);
  settle_autograd();
}

}  // namespace

void register_exit_handler() {
  import_module("atexit").attr("register")(py::cpp_function(&settle));
}

}  // namespace outback::python
