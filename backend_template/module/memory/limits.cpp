// How much memory the device has, how much of it this process may use, and whether freed memory is
// cached; the rest of it is in _outback/allocator.py.
#include "backend_template/core/memory/allocator/memory_limit.h"

#include <c10/core/AllocatorConfig.h>

#include <utility>

#include "backend_template/core/memory/allocator/out_of_memory.h"
#include "backend_template/core/memory/allocator/routing.h"
#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/module/device_module.h"
#include "backend_template/module/memory/memory.h"
#include "backend_template/python/device_argument.h"

namespace py = pybind11;

namespace outback::python {
namespace {

std::pair<size_t, size_t> mem_get_info(py::handle device) {
  const c10::DeviceIndex index = device_argument(device);
  start_from_python();
  const py::gil_scoped_release no_gil;
  return core::device_allocator().getMemoryInfo(index);
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

void define_memory_limits(function_scope& memory, function_scope& native) {
  memory.def("mem_get_info", &mem_get_info, py::arg("device") = py::none(),
             py::doc("Free and total bytes of the device, other processes included."));
  native.def("set_memory_fraction", &core::set_memory_fraction);
  native.def("memory_fraction", &core::memory_fraction);
  native.def("enable_caching", &core::enable_caching);
  native.def("is_caching_enabled", &core::is_caching_enabled);
  memory.def("_attach_out_of_memory_observer", &attach_observer, py::arg("observer"),
             py::doc("Calls observer(device, requested, total, free), in bytes, before every "
                     "torch.OutOfMemoryError."));
  memory.def("_set_allocator_settings", &c10::CachingAllocator::setAllocatorSettings,
             py::arg("settings"), py::doc("Applies settings in the form of PYTORCH_ALLOC_CONF."));
}

}  // namespace outback::python
