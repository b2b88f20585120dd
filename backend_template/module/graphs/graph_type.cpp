// What the class of graphs, torch.<name>.<NAME>Graph (_outback/graphs.py), is made of. All methods
// release the GIL while they call slots.
#include <optional>
#include <utility>

#include "backend_template/core/graphs/device_graph.h"
#include "backend_template/core/memory/allocator/routing.h"
#include "backend_template/module/device_module.h"

namespace py = pybind11;

namespace outback::python {
namespace {

// Holds a graph of core. Its destructor releases the GIL, since the end of a graph may wait for the
// driver.
class graph_handle {
 public:
  explicit graph_handle(bool keep_graph) : graph_(std::in_place, keep_graph) {}
  graph_handle(const graph_handle&) = delete;
  graph_handle& operator=(const graph_handle&) = delete;
  ~graph_handle() {
    const py::gil_scoped_release no_gil;
    graph_.reset();
  }

  core::device_graph& operator*() { return *graph_; }

 private:
  std::optional<core::device_graph> graph_;
};

template <auto method, class... Arguments>
void without_gil(graph_handle& graph, Arguments... arguments) {
  const py::gil_scoped_release no_gil;
  ((*graph).*method)(arguments...);
}

}  // namespace

void define_graphs(function_scope& native) {
  py::class_<graph_handle>(native, "Graph", py::module_local())
      .def(py::init<bool>(), py::arg("keep_graph") = false)
      .def("_begin", &without_gil<&core::device_graph::capture_begin, c10::MempoolId_t>)
      .def("_abandon_capture", &without_gil<&core::device_graph::abandon_capture>)
      .def(
          "capture_end", &without_gil<&core::device_graph::capture_end>,
          py::doc(
              "Ends the capture, on the thread and the stream of its begin. Raises what broke it."))
      .def("instantiate", &without_gil<&core::device_graph::instantiate>,
           py::doc("Makes the graph ready for replays, which may take long. Once."))
      .def("replay", &without_gil<&core::device_graph::replay>,
           py::doc("Puts the captured work on the current stream, with new random numbers."))
      .def("reset", &without_gil<&core::device_graph::reset>,
           py::doc("Lets go of the graph and of its memory. It may capture again."))
      .def(
          "pool", [](graph_handle& graph) { return (*graph).pool(); },
          py::doc("The id of the graph's memory pool, for other graphs to share."));
  native.def("refuse_graph_description", &core::refuse_graph_description);
  native.def("new_pool_id", &core::new_pool_id);
}

}  // namespace outback::python
