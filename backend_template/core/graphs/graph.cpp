#include "backend_template/core/graphs/graph.h"

#include <c10/util/Exception.h>

#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/runtime/format.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/streams/stream.h"

namespace outback::core {
namespace {

const outback_graphs& graph_group() {
  ensure_started();
  if (runtime().graphs == nullptr) refuse_absent("graphs", "capturing work in a graph");
  return *runtime().graphs;
}

}  // namespace

graph::~graph() {
  // In a forked child the handles are the parent's. The statuses are ignored: a destructor cannot
  // report them.
  if (is_in_bad_fork()) return;
  const outback_runtime& table = runtime();
  if (is_capturing_) {
    table.graphs->end(table.self, device_, handle_of(capturing_), &handle_);
  }
  if (handle_ != nullptr) table.graphs->destroy(table.self, device_, handle_);
}

void graph::begin_capture(const c10::Stream& stream) {
  const outback_graphs& graphs = graph_group();
  TORCH_CHECK(handle_ == nullptr && !is_capturing_, backend_name(),
              ": this graph has captured something: expected a new one");
  check(graphs.begin(runtime().self, stream.device_index(), handle_of(stream)), "graphs.begin",
        stream.device_index());
  // Only now: if the slot fails there is no capture for the destructor to end.
  capturing_ = stream;
  device_ = stream.device_index();
  is_capturing_ = true;
}

void graph::end_capture() {
  TORCH_CHECK(is_capturing_, backend_name(),
              ": this graph is not capturing: begin a capture first");
  // Before the slot: by the contract it ends the capture also where it fails.
  is_capturing_ = false;
  check(graph_group().end(runtime().self, device_, handle_of(capturing_), &handle_), "graphs.end",
        device_);
  check_made(handle_, "graph", "graphs.end", device_);
}

void graph::instantiate() {
  TORCH_CHECK(handle_ != nullptr, backend_name(), ": this graph is empty: capture something first");
  check(graph_group().instantiate(runtime().self, device_, handle_), "graphs.instantiate", device_);
}

void graph::launch(const c10::Stream& stream) {
  TORCH_CHECK(handle_ != nullptr, backend_name(), ": this graph is empty: capture something first");
  TORCH_CHECK(stream.device_index() == device_, backend_name(), ": the graph is of device ",
              static_cast<int>(device_), " and cannot be launched on ", stream);
  check(graph_group().launch(runtime().self, device_, handle_, handle_of(stream)), "graphs.launch",
        device_);
  mark_busy(stream);
}

outback_capture capture_status(const c10::Stream& stream) {
  const outback_graphs* graphs = runtime().graphs;
  if (graphs == nullptr || !is_started()) return OUTBACK_CAPTURE_NONE;
  // No OUTBACK_CAPTURE_* is negative.
  constexpr outback_capture unwritten = -1;
  outback_capture status = unwritten;
  check(graphs->status(runtime().self, stream.device_index(), handle_of(stream), &status),
        "graphs.status", stream.device_index());
  check_written(status, unwritten, "capture", "graphs.status", stream.device_index());
  if (C10_UNLIKELY(status < OUTBACK_CAPTURE_NONE || status > OUTBACK_CAPTURE_BROKEN)) {
    blame(core::format("made *capture {}, which there is not", status), "graphs.status",
          stream.device_index());
  }
  return status;
}

}  // namespace outback::core
