#include "tests/fakes/cudart/capture.hpp"

#include <algorithm>
#include <utility>

#include "tests/fakes/cudart/stream.hpp"

namespace fake_cuda {

cudaGraphNode_t node_handle(const graph& of, std::size_t index) {
  return reinterpret_cast<cudaGraphNode_t>(reinterpret_cast<uintptr_t>(&of) + index);
}

void capture::add(graph_node node, std::vector<std::size_t>& frontier) {
  node.after = std::move(frontier);
  made->nodes.push_back(std::move(node));
  frontier = {made->nodes.size() - 1};
}

void capture::add_all(const std::vector<graph_node>& nodes, std::vector<std::size_t>& frontier) {
  const std::size_t first = made->nodes.size();
  std::vector<bool> is_leaf(nodes.size(), true);
  for (const graph_node& each : nodes) {
    graph_node copy = each;
    for (std::size_t& before : copy.after) {
      is_leaf[before] = false;
      before += first;
    }
    if (copy.after.empty()) copy.after = frontier;
    made->nodes.push_back(std::move(copy));
  }
  if (nodes.empty()) return;
  frontier.clear();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (is_leaf[i]) frontier.push_back(first + i);
  }
}

bool capture::joined(const std::vector<std::size_t>& frontier) const {
  std::vector<bool> before(made->nodes.size(), false);
  std::vector<std::size_t> open = frontier;
  while (!open.empty()) {
    const std::size_t node = open.back();
    open.pop_back();
    if (before[node]) continue;
    before[node] = true;
    for (const std::size_t each : made->nodes[node].after) open.push_back(each);
  }
  for (const auto& each : streams) {
    const auto alive = each.lock();
    if (alive == nullptr || alive->captured.get() != this) continue;
    if (!std::all_of(alive->frontier.begin(), alive->frontier.end(),
                     [&](std::size_t node) { return before[node]; })) {
      return false;
    }
  }
  return true;
}

}  // namespace fake_cuda
