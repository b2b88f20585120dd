// How much memory the device has, how much of it this process may use, and whether freed memory is
// cached.
#include "backend_template/core/memory/allocator/memory_limit.h"

#include <c10/core/AllocatorConfig.h>
#include <c10/util/Exception.h>

#include <utility>
#include <vector>

#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/memory/allocator/out_of_memory.h"
#include "backend_template/core/memory/allocator/routing.h"
#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/module/context_decorator.h"
#include "backend_template/module/device_module.h"
#include "backend_template/module/memory/memory.h"
#include "backend_template/python/device_argument.h"
#include "outback/backend.h"

namespace py = pybind11;

namespace outback::python {
namespace {

std::pair<size_t, size_t> mem_get_info(py::handle device) {
  const c10::DeviceIndex index = device_argument(device);
  start_from_python();
  const py::gil_scoped_release no_gil;
  return core::device_allocator().getMemoryInfo(index);
}

void set_fraction(py::handle fraction, py::handle device) {
  start_from_python();
  const c10::DeviceIndex index = device_argument(device);
  TORCH_CHECK_TYPE(PyFloat_Check(fraction.ptr()),
                   "Invalid type for fraction argument, must be `float`");
  core::set_memory_fraction(index, fraction.cast<double>());
}

double get_fraction(py::handle device) {
  start_from_python();
  return core::memory_fraction(device_argument(device));
}

// As torch.cuda's, this does nothing before the start.
void enable_caching(bool value) {
  if (core::is_started()) core::enable_caching(value);
}

// Process-wide, as in torch.cuda: other threads do not cache either inside the context. What to
// return to is a stack, since one object may be entered again before it is left.
class caching_disabled {
 public:
  void enter() {
    before_.push_back(core::is_caching_enabled());
    enable_caching(false);
  }

  void leave() {
    TORCH_CHECK(!before_.empty(), "this context was not entered");
    enable_caching(before_.back());
    before_.pop_back();
  }

 private:
  std::vector<bool> before_;
};

void change_current_allocator(py::handle /*allocator*/) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, backend_name(),
      ": change_current_allocator: the memory of this device comes from its runtime's slots "
      "mem_alloc and mem_free: write another runtime, or a layer over its table, to change them");
}

// The observer is kept until the process ends. It runs on the thread whose allocation failed.
void attach_observer(py::function observer) {
  core::attach_out_of_memory_observer([kept = observer.release().ptr()](c10::DeviceIndex device,
                                                                        size_t requested,
                                                                        size_t total, size_t free) {
    if (Py_IsInitialized() == 0) return;  // memory may run out after the interpreter has ended
    const py::gil_scoped_acquire gil;
    try {
      py::reinterpret_borrow<py::function>(kept)(static_cast<int>(device), requested, total, free);
    } catch (py::error_already_set& error) {
      // The caller must get the out-of-memory error, not the observer's.
      error.discard_as_unraisable("an observer of out-of-memory errors");
    }
  });
}

}  // namespace

void define_memory_limits(py::module_& memory) {
  const auto device = py::arg("device") = py::none();
  memory.def("mem_get_info", &mem_get_info, device,
             py::doc("Free and total bytes of the device, other processes included."));
  memory.def(
      "set_per_process_memory_fraction", &set_fraction, py::arg("fraction"), device,
      py::doc("Limits this process to a part of the device's memory, from 0 to 1. Beyond it, "
              "allocating raises torch.OutOfMemoryError."));
  memory.def("get_per_process_memory_fraction", &get_fraction, device,
             py::doc("The part of the device's memory that this process may use, from 0 to 1."));
  memory.def(
      "get_allocator_backend", [] { return "native"; },
      py::doc("\"native\": the caching allocator, the only one there is."));
  memory.def("change_current_allocator", &change_current_allocator, py::arg("allocator"),
             py::doc("Not supported: the memory comes from the device's runtime."));
  memory.def(
      "caching_allocator_enable", &enable_caching, py::arg("value") = true,
      py::doc(
          "Turns the caching of freed memory on or off; nothing before the backend has started."));
  py::class_<caching_disabled> disabled(
      memory, "caching_allocator_disabled", py::module_local(),
      "Context manager and decorator: freed memory is not cached inside it.");
  disabled.def(py::init<>())
      .def("__enter__", &caching_disabled::enter)
      .def("__exit__", [](caching_disabled& context, const py::args&) {
        context.leave();
        return false;
      });
  add_decorator(disabled, [](const caching_disabled&) { return caching_disabled(); });
  memory.def("_attach_out_of_memory_observer", &attach_observer, py::arg("observer"),
             py::doc("Calls observer(device, requested, total, free), in bytes, before every "
                     "torch.OutOfMemoryError."));
  memory.def("_set_allocator_settings", &c10::CachingAllocator::setAllocatorSettings,
             py::arg("settings"), py::doc("Applies settings in the form of PYTORCH_ALLOC_CONF."));
}

}  // namespace outback::python
