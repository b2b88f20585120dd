// The graph slots of the host runtime.
#include <utility>

#include "backend_template/runtimes/host/graph.hpp"
#include "backend_template/runtimes/host/host_runtime.hpp"

namespace outback::host {
namespace {

graph& own_graph(int32_t index, outback_graph handle) {
  auto& g = *reinterpret_cast<graph*>(handle);
  check_owner("graph", g.device(), index);
  return g;
}

}  // namespace

void host_runtime::graph_begin(int32_t index, outback_stream where) {
  stream_at(index, where).begin_capture();
}

outback_capture host_runtime::graph_status(int32_t index, outback_stream where) {
  return stream_at(index, where).capture_status();
}

outback_graph host_runtime::graph_end(int32_t index, outback_stream where) {
  // The capture has ended even if this throws, as the contract demands.
  recording work = stream_at(index, where).end_capture();
  return reinterpret_cast<outback_graph>(new graph(index, std::move(work), options_.adversarial));
}

void host_runtime::graph_instantiate(int32_t index, outback_graph handle) {
  at(index);
  own_graph(index, handle).instantiate();
}

void host_runtime::graph_launch(int32_t index, outback_graph handle, outback_stream where) {
  stream& s = stream_at(index, where);
  own_graph(index, handle).launch(s);
}

void host_runtime::graph_destroy(int32_t index, outback_graph handle) {
  at(index);
  // Pending launches own the work, so deleting is safe at any time.
  delete &own_graph(index, handle);
}

}  // namespace outback::host
