// Validation's rules for captures and graphs.
//
// Calls that break a capture are not refused here: the runtime must see them, since it breaks the
// capture in answer.
#include <string>

#include "backend_template/layers/validation.hpp"

namespace outback::layers {
namespace {

// A capture is recorded as a handle of its own kind, with the value of the stream on which it
// began.
constexpr const char* capture_kind = "capture";

}  // namespace

void validation::check(slots::graph_begin, int32_t device, outback_stream stream) {
  const auto began = objects_.find(capture_kind, stream, device);
  if (!began) return;
  refuse(slots::graph_begin::name, "stream", address_text(stream),
         "a stream that is in no capture; one began on it (object " +
             std::to_string(began->number) + ")");
}

void validation::receive(slots::graph_begin, int32_t device, outback_stream stream) {
  objects_.add(capture_kind, stream, device);
}

void validation::receive(slots::graph_status, int32_t, outback_stream, outback_capture* capture) {
  if (*capture >= OUTBACK_CAPTURE_NONE && *capture <= OUTBACK_CAPTURE_BROKEN) return;
  blame(slots::graph_status::name,
        "made *capture " + std::to_string(*capture) + ", which there is not");
}

// The record is never put back: graphs.end ends the capture even if it fails.
void validation::give_more(slots::graph_end, giving&, int32_t device, outback_stream stream,
                           outback_graph*) {
  if (objects_.take(capture_kind, stream, device)) return;
  refuse(slots::graph_end::name, "stream", address_text(stream),
         "a stream on which a capture began; none did, or it ended already");
}

// The record has only the stream of graphs.begin. The runtime knows the streams that joined by
// waiting for an event too, so it is asked, unless the device is lost.
void validation::check(slots::stream_destroy, int32_t device, outback_stream stream) {
  const outback_runtime& runtime = devices_.runtime();
  if (runtime.graphs == nullptr || is_lost(device)) return;
  outback_capture capture = OUTBACK_CAPTURE_NONE;
  const outback_status status = runtime.graphs->status(runtime.self, device, stream, &capture);
  if (status != OUTBACK_OK || capture == OUTBACK_CAPTURE_NONE) return;
  refuse(slots::stream_destroy::name, "stream", address_text(stream),
         "a stream that is in no capture; end the capture first");
}

// The state of a graph is 1 after graphs.instantiate.
void validation::check(slots::graph_instantiate, int32_t device, outback_graph graph) {
  const auto found = objects_.find(handle_name<outback_graph>, graph, device);
  if (!found || found->state == 0) return;
  refuse(
      slots::graph_instantiate::name, "graph", address_text(graph),
      "one that was not instantiated; this one was (object " + std::to_string(found->number) + ")");
}

void validation::receive(slots::graph_instantiate, int32_t device, outback_graph graph) {
  objects_.set(handle_name<outback_graph>, graph, device, 1, handle_name<outback_graph>);
}

void validation::check(slots::graph_launch, int32_t device, outback_graph graph, outback_stream) {
  const auto found = objects_.find(handle_name<outback_graph>, graph, device);
  if (!found || found->state == 1) return;
  refuse(
      slots::graph_launch::name, "graph", address_text(graph),
      "one that was instantiated; this one was not (object " + std::to_string(found->number) + ")");
}

}  // namespace outback::layers
