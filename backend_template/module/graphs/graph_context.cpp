// The context manager torch.<name>.graph, which captures what its body does.
#include <c10/util/Exception.h>

#include <array>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/module/device_module.h"
#include "backend_template/module/graphs/graphs.h"
#include "backend_template/module/stream_type.h"
#include "outback/backend.h"

namespace py = pybind11;

namespace outback::python {
namespace {

// Returns the stream for captures that name none. It is made at its first use and kept, one for
// each device; torch.cuda.graph has one default_capture_stream.
c10::Stream default_capture_stream() {
  static auto& mutex = *new std::mutex;
  static auto& streams = *new std::array<std::optional<c10::Stream>, core::max_devices>;
  const c10::DeviceIndex device = core::current_device();
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (streams[device]) return *streams[device];
  }
  // Without the lock, since this calls the driver.
  const c10::Stream made = core::new_stream(device, 0);
  const std::lock_guard<std::mutex> lock(mutex);
  if (!streams[device]) streams[device] = made;
  return *streams[device];
}

class graph_context {
 public:
  graph_context(py::module_ module, py::object graph, py::object pool, py::object stream,
                std::string mode, bool liveness)
      : module_(std::move(module)),
        graph_(std::move(graph)),
        pool_(std::move(pool)),
        stream_(std::move(stream)),
        mode_(std::move(mode)),
        liveness_(liveness) {
    graph_pool_argument(pool_);
    if (!stream_.is_none()) unwrap_stream(stream_);
  }

  void enter() {
    TORCH_CHECK(!entered_, "this context was entered already: leave it before it is entered again");
    start_from_python();
    if (stream_.is_none()) stream_ = wrap_stream(default_capture_stream());
    free_memory();
    py::object stream = module_.attr("StreamContext")(stream_);
    stream.attr("__enter__")();
    entered_ = std::move(stream);
    try {
      graph_.attr("capture_begin")(py::arg("pool") = pool_, py::arg("capture_error_mode") = mode_,
                                   py::arg("check_input_liveness") = liveness_);
    } catch (...) {
      leave_stream();
      throw;
    }
  }

  // `failed`: the body raised an error. Then that error goes on, and the capture, which it may have
  // broken, is thrown away without an error of its own.
  void leave(bool failed) {
    TORCH_CHECK(entered_, "this context was not entered");
    try {
      if (!failed || !abandon_capture(graph_)) graph_.attr("capture_end")();
    } catch (...) {
      // A body that leaves another stream current is refused, with the capture still open; and
      // nobody is left to end it.
      abandon_capture(graph_);
      leave_stream();
      throw;
    }
    leave_stream();
  }

 private:
  // As torch.cuda.graph does before a capture: the graph's pool keeps its memory, so cached memory
  // of others goes back first.
  void free_memory() {
    module_.attr("synchronize")();
    const auto config = py::module_::import("torch.compiler").attr("config");
    if (config.attr("force_cudagraph_gc").cast<bool>()) {
      py::module_::import("gc").attr("collect")();
    }
    module_.attr("empty_cache")();
    const auto accelerator = py::module_::import("torch.accelerator");
    if (py::hasattr(accelerator, "empty_host_cache")) accelerator.attr("empty_host_cache")();
  }

  void leave_stream() {
    const py::object none = py::none();
    std::exchange(entered_, py::object()).attr("__exit__")(none, none, none);
  }

  py::module_ module_;
  py::object graph_;
  py::object pool_;
  py::object stream_;
  std::string mode_;
  bool liveness_;
  py::object entered_;  // the StreamContext, between enter and leave
};

}  // namespace

void refuse_annotations(bool asked_for) {
  TORCH_CHECK_NOT_IMPLEMENTED(!asked_for, backend_name(),
                              ": enable_annotations: it marks the kernels of CUDA's graphs; "
                              "expected False");
}

// The module is held as a borrowed handle: it owns the class, so a reference would be a cycle.
void define_graph_context(py::module_& module) {
  py::class_<graph_context>(
      module, "graph", py::module_local(),
      R"(Context manager: what is put on the stream inside it goes into a graph.

Args:
    cuda_graph: the graph that captures.
    pool: shares the memory of other graphs: what `graph_pool_handle()` or their `pool()` answered.
    stream: current inside it; not a default one. None: a stream of its own.
    capture_error_mode: as for the graph's `capture_begin`.

It waits for the device first, and gives cached memory back. What the body raises ends the capture
without a graph.)")
      .def(py::init([module = py::handle(module)](py::object graph, py::object pool,
                                                  py::object stream, std::string mode,
                                                  bool annotations, bool liveness) {
             refuse_annotations(annotations);
             return std::make_unique<graph_context>(py::reinterpret_borrow<py::module_>(module),
                                                    std::move(graph), std::move(pool),
                                                    std::move(stream), std::move(mode), liveness);
           }),
           py::arg("cuda_graph"), py::arg("pool") = py::none(), py::arg("stream") = py::none(),
           py::arg("capture_error_mode") = "global", py::arg("enable_annotations") = false,
           py::arg("check_input_liveness") = false)
      .def("__enter__", &graph_context::enter)
      .def("__exit__", [](graph_context& context, const py::args& raised) {
        context.leave(raised.size() != 0 && !py::object(raised[0]).is_none());
        return false;
      });
}

}  // namespace outback::python
