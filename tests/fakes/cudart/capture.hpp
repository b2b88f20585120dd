// Captures and what they leave: graphs. Guarded by the machine's lock.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/fakes/cudart/cuda_api.hpp"
#include "tests/fakes/cudart/work.hpp"

namespace fake_cuda {

struct stream;

/// A piece of a graph.
struct graph_node {
  task what;
  int device = 0;
  int priority = 0;
  std::vector<std::size_t> after;  // earlier nodes of the graph
};

/// What a program lets graphs keep. The last of its owners tells the program, without the machine's
/// lock.
struct user_object {
  user_object(void* of, cudaHostFn_t called) : data(of), destroy(called) {}
  user_object(const user_object&) = delete;
  user_object& operator=(const user_object&) = delete;
  ~user_object() { destroy(data); }

  void* const data;
  const cudaHostFn_t destroy;
  unsigned references = 0;  // the program's own
};

struct graph {
  std::vector<graph_node> nodes;
  std::vector<std::shared_ptr<user_object>> retained;
  const char* made_by = "";
  bool kept = false;
};

struct graph_exec {
  std::vector<graph_node> nodes;
  std::vector<std::shared_ptr<user_object>> retained;
  unsigned long long flags = 0;
  work_ptr last;  // the end of the latest launch: launches run one after another
  const char* made_by = "";
  bool kept = false;
};

/// Good for comparing, and for as long as the graph is there.
cudaGraphNode_t node_handle(const graph& of, std::size_t index);

/// From cudaStreamBeginCapture to cudaStreamEndCapture.
struct capture {
  unsigned long long id = 0;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;  // that began it
  std::weak_ptr<stream> origin;
  std::shared_ptr<graph> made = std::make_shared<graph>();
  cudaGraph_t told_graph = nullptr;  // what cudaStreamGetCaptureInfo has answered
  std::vector<std::weak_ptr<stream>> streams;
  bool invalid = false;

  /// The node that was added last becomes all that `frontier` is.
  void add(graph_node node, std::vector<std::size_t>& frontier);
  /// `exec` as a part of the graph, after `frontier`.
  void add_all(const std::vector<graph_node>& nodes, std::vector<std::size_t>& frontier);
  /// Whether everything that any stream of it did comes before `frontier`.
  bool joined(const std::vector<std::size_t>& frontier) const;
};

}  // namespace fake_cuda
