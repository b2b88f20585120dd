#include "backend_template/module/at_exit.h"

#include <ATen/ops/empty.h>
#include <pybind11/pybind11.h>
#include <torch/csrc/autograd/autograd.h>

#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/lazy_start.h"

namespace py = pybind11;

namespace outback::python {
namespace {

// Autograd starts its threads, one a device, at the first backward; it gives them names and no way
// to ask for them. A forked child has none.
bool autograd_threads_exist() {
  std::error_code failed;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", failed)) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (name.starts_with("pt_autograd")) return true;
  }
  return false;
}

// A backward of nothing through every device's thread.
void run_empty_backward() {
  torch::autograd::variable_list roots;
  torch::autograd::variable_list gradients;
  for (c10::DeviceIndex i = 0; i < core::device_count(); ++i) {
    const auto options = at::TensorOptions(c10::Device(core::device_type, i));
    const at::Tensor leaf = at::empty({0}, options).requires_grad_(true);
    roots.push_back(leaf.view({0}));
    gradients.push_back(at::empty({0}, options));
  }
  torch::autograd::backward(roots, gradients);
}

// backward() returns before the thread that finished it has dropped its state, which holds a Python
// object. A thread that takes the GIL for that when the interpreter has begun to end is ended by
// Python, through C++ frames that cannot be unwound: std::terminate. So wait until each of them has
// gone on to other work: a backward that carries no Python object, since the thread that asks for
// it has never run Python.
void settle_autograd() {
  if (!core::is_started() || !autograd_threads_exist()) return;
  const py::gil_scoped_release no_gil;
  std::thread([] {
    try {
      run_empty_backward();
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
      // A lost device cannot keep the process from ending.
    }
  }).join();
}

}  // namespace

void register_exit_handler() {
  py::module_::import("atexit").attr("register")(py::cpp_function(&settle_autograd));
}

}  // namespace outback::python
