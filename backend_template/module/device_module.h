// torch.<name>, the counterpart of torch.cuda, in C++. The extension module itself becomes the
// device module, so a vendor's own functions in it are available as `torch.<name>.<function>` too.
//
// Registration calls define_device_module once, after the C++ registration. All functions here need
// the GIL, and throw pybind11::error_already_set for an error in Python.
#pragma once

#include <pybind11/pybind11.h>

#include "backend_template/python/function_scope.h"

namespace outback::python {

/// Fills `module` with the names of torch.cuda that make sense for every device, and makes the
/// package torch.<name>._outback. Does not start the backend.
void define_device_module(pybind11::module_& module);

/// Starts the backend, as its first tensor does, tells torch that it has started, and runs the
/// queued calls (_outback/lazy_calls.py). Releases the GIL while the driver starts. Throws
/// c10::Error if there is no device, or in a forked child of a process that had started the
/// backend, and rethrows exceptions of queued calls. Every function of the device module that needs
/// the device calls it.
void start_from_python();

// The parts of define_device_module. The file with each part has the part's name. Their doc strings
// are py::doc, since a literal's length is part of its type, and pybind11's templates would be
// compiled again for each length.
void define_devices(function_scope& module);      // device_count, set_device, synchronize, ...
void define_contexts(function_scope& module);     // device, device_of, stream
void define_streams(function_scope& module);      // Stream, Event, current_stream, ...
void define_host_memory(function_scope& module);  // host_memory_stats_as_nested_dict, ...
void define_fallback(function_scope& module);     // set_fallback_mode
void define_operators(function_scope& native);    // the operator report
void define_peer(function_scope& module);         // can_device_access_peer, ipc_collect
void define_races(function_scope& native);        // the race finder, for _sanitizer
void define_telemetry(function_scope& module);    // utilization, temperature, ...

// as_cuda, from_cuda, and the argument handling of compiled graphs
void define_interop(function_scope& module, function_scope& native);

// compile_kernel, Kernel, and what a device wants of a compiler
void define_kernels(function_scope& module, function_scope& native);

void define_generated_kernels(function_scope& native);  // those of torch.compile

void define_graphs(function_scope& native);  // the base of CUDAGraph, in graphs/

/// Adds the module `_native`, the functions of this library for the Python sources, to `package`,
/// which is torch.<name>._outback. Adds the function that generated code calls to the device
/// module.
void define_native(function_scope& module, const pybind11::module_& package);

}  // namespace outback::python
