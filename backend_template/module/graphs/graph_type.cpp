// The class of graphs, torch.<name>.<NAME>Graph: torch.cuda.CUDAGraph for this device. All methods
// release the GIL while they call slots.
#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "backend_template/core/graphs/device_graph.h"
#include "backend_template/core/memory/allocator/routing.h"
#include "backend_template/module/device_module.h"
#include "backend_template/module/memory/memory.h"
#include "outback/backend.h"

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

// The mode says which threads may do what during a capture. Here all threads may do as they like in
// every mode, so it is only checked.
void check_mode(const std::string& mode) {
  constexpr std::array<std::string_view, 3> modes{"global", "thread_local", "relaxed"};
  TORCH_CHECK(std::find(modes.begin(), modes.end(), mode) != modes.end(),
              "Unknown capture error mode. Expected `global`, `thread_local`, or `relaxed`, got ",
              mode);
}

py::tuple pool_tuple(c10::MempoolId_t pool) {
  return py::make_tuple(pool.first, pool.second);
}

// The id of the pool that `pool` names: {0, 0} for None, the id itself for a pair of integers, or
// the id of a MemPool.
c10::MempoolId_t graph_pool_argument(py::handle pool) {
  if (pool.is_none()) return {0, 0};
  if (py::isinstance<py::tuple>(pool)) return pool_id_argument(pool);
  TORCH_CHECK_TYPE(py::hasattr(pool, "id"), "expected a pool of graphs: None, what ",
                   "graph_pool_handle() or a graph's pool() answered, or a MemPool; got ",
                   Py_TYPE(pool.ptr())->tp_name);
  return pool_id_argument(pool.attr("id"));
}

void begin_capture(graph_handle& graph, py::handle pool, const std::string& mode, bool liveness) {
  check_mode(mode);
  TORCH_CHECK_NOT_IMPLEMENTED(
      !liveness, backend_name(),
      ": check_input_liveness: it watches CUDA's tensors. Here a graph whose operators run on the "
      "host keeps its inputs alive; expected False");
  start_from_python();
  const c10::MempoolId_t id = graph_pool_argument(pool);
  const py::gil_scoped_release no_gil;
  (*graph).capture_begin(id);
}

// Only checks its argument: a generator joins a capture when its numbers are used.
void register_generator(py::handle generator) {
  const std::string device = py::str(generator.attr("device").attr("type"));
  TORCH_CHECK_VALUE(device == backend_name(), "register_generator_state: expected a generator of ",
                    backend_name(), ", got one of ", device);
}

// "ACMEGraph"
std::string class_name() {
  std::string name = backend_name();
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return name + "Graph";
}

template <void (core::device_graph::*method)()>
void without_gil(graph_handle& graph) {
  const py::gil_scoped_release no_gil;
  ((*graph).*method)();
}

}  // namespace

void define_graphs(py::module_& module) {
  const std::string name = class_name();
  py::class_<graph_handle>(module, name.c_str(), py::module_local(), py::dynamic_attr(),
                           R"(Work that was captured on a stream, to be replayed as one piece.

Args:
    keep_graph: leaves `instantiate()` to you, or to the first `replay()`.

What is allocated during the capture comes out of a pool that serves nobody else, and stays where it
is until `reset()`: replays read and write the same memory. Prefer the context manager `graph`.)")
      .def(py::init<bool>(), py::arg("keep_graph") = false)
      .def("capture_begin", &begin_capture, py::arg("pool") = py::none(),
           py::arg("capture_error_mode") = "global", py::arg("check_input_liveness") = false,
           R"(Captures what this thread puts on its current stream from now on.

Args:
    pool: shares the memory of other graphs: what `graph_pool_handle()` or their `pool()` answered.
    capture_error_mode: "global", "thread_local" or "relaxed". Other threads may do as they like in
        all of them.)")
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
          "pool", [](graph_handle& graph) { return pool_tuple((*graph).pool()); },
          py::doc("The id of the graph's memory pool, for other graphs to share."))
      .def(
          "register_generator_state",
          [](graph_handle& /*graph*/, py::handle generator) { register_generator(generator); },
          py::arg("generator"),
          py::doc("For torch.cuda's sake: generators join a capture when their numbers are drawn."))
      .def(
          "enable_debug_mode", [](graph_handle& /*graph*/) { core::refuse_graph_description(); },
          py::doc("Raises NotImplementedError: a runtime cannot describe a graph."))
      .def(
          "debug_dump",
          [](graph_handle& /*graph*/, const std::string& /*path*/) {
            core::refuse_graph_description();
          },
          py::arg("debug_path"),
          py::doc("Raises NotImplementedError: a runtime cannot describe a graph."))
      // For _outback/graphs.py. Ends an open capture without a graph and without an error of its
      // own.
      .def("_abandon_capture", &without_gil<&core::device_graph::abandon_capture>)
      .def_static("_check_pool", [](py::handle pool) { graph_pool_argument(pool); });
  // The name that code written for torch.cuda uses.
  module.attr("CUDAGraph") = module.attr(name.c_str());
  module.def(
      "graph_pool_handle", [] { return pool_tuple(core::new_pool_id()); },
      py::doc("A pool that graphs may share, for their `capture_begin` or for `graph`."));
}

}  // namespace outback::python
