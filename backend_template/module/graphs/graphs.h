// torch.<name>.graphs: work that is captured once and replayed often. The parts of it, one file
// each.
#pragma once

#include <c10/core/Allocator.h>
#include <pybind11/pybind11.h>

namespace outback::python {

/// <NAME>Graph, which is CUDAGraph too, and graph_pool_handle.
void define_graph_type(pybind11::module_& module);

/// The context manager `graph`.
void define_graph_context(pybind11::module_& module);

void define_graphed_callables(pybind11::module_& module);

/// What may stand for a pool: None, a pair of integers, or a MemPool.
c10::MempoolId_t graph_pool_argument(pybind11::handle pool);

/// Raises NotImplementedError for enable_annotations=True, which a newer torch.cuda has.
void refuse_annotations(bool asked_for);

/// Ends the open capture of `graph` without a graph, if it is one of ours; for a failure that is on
/// its way already. False for what is none of ours.
bool abandon_capture(const pybind11::object& graph);

}  // namespace outback::python
