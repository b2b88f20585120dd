// The parts of torch.<name>.graphs: work that is captured once and replayed often. Internal to
// module/; with the GIL held. The graphs themselves are core's (core/graphs/device_graph.h).
#pragma once

#include <c10/core/Allocator.h>
#include <pybind11/pybind11.h>

namespace outback::python {

/// Adds the class <NAME>Graph, under the name CUDAGraph too, and graph_pool_handle. The
/// two parts below look CUDAGraph up in the module when they are used.
void define_graph_type(pybind11::module_& module);

/// Adds the context manager `graph`.
void define_graph_context(pybind11::module_& module);

/// Adds make_graphed_callables.
void define_graphed_callables(pybind11::module_& module);

/// Returns the id of the pool that `pool` names: {0, 0} for None, the id itself for a pair of
/// integers, or the id of a MemPool. Throws c10::TypeError for anything else.
c10::MempoolId_t graph_pool_argument(pybind11::handle pool);

/// Throws c10::NotImplementedError if the caller asked for enable_annotations, an argument of newer
/// torch.cuda's that has no meaning here.
void refuse_annotations(bool asked_for);

/// Ends the open capture of `graph` without a graph and without an error of its own: for when
/// another error is on its way already. Returns false, and does nothing, if `graph` is not of this
/// class.
bool abandon_capture(const pybind11::object& graph);

}  // namespace outback::python
