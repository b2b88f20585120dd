// torch.<name>: what torch.cuda is to CUDA, in C++. The extension module itself becomes the device
// module, so a vendor's own functions in it are reached as `torch.<name>.<function>` too.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

namespace outback::python {

/// Fills `module` with the names of torch.cuda that have a meaning here. Once per process, after
/// the C++ registration. Starts nothing.
void define_device_module(pybind11::module_& module, const std::string& name);

/// Gives torch.compile what it needs to know of the device, when torch._dynamo is imported.
/// After define_device_module and the registration of the module with torch.
void register_dynamo_interface(const std::string& name);

/// Makes torch.compile's default backend work where the CPU can address the device's memory, and
/// refuse elsewhere, when Inductor is imported.
void register_inductor_backend(const std::string& name);

/// Lets tensors, parameters and storages of the device go to other processes, by copy, where
/// torch.multiprocessing pickles them. `module` is the one that the other process imports for it.
void register_reducers(pybind11::module_& module);

/// Starts the backend, as the first tensor does, and tells torch. Throws in a forked child of a
/// process that had started it, and what a call throws that was queued until then.
void start_from_python();

// The parts of define_device_module, one file each. Their docstrings are py::doc: a literal's
// length is part of its type, and pybind11's templates would be compiled once more for each length.
void define_devices(pybind11::module_& module);
void define_properties(pybind11::module_& module);
void define_contexts(pybind11::module_& module);
void define_streams(pybind11::module_& module);
void define_random(pybind11::module_& module);
void define_memory(pybind11::module_& module);
void define_host_memory(pybind11::module_& module);
void define_fallback(pybind11::module_& module);
void define_peer(pybind11::module_& module);
void define_telemetry(pybind11::module_& module);
void define_sync_debug(pybind11::module_& module);
void define_inductor(pybind11::module_& module);
void define_graphs(pybind11::module_& module);

}  // namespace outback::python
