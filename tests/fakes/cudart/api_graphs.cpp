// Entry points: captures, graphs and their launches.
#include <fmt/format.h>

#include "tests/fakes/cudart/enqueue.hpp"
#include "tests/fakes/cudart/memory.hpp"

using namespace fake_cuda;

namespace {

template <class T, class Handle>
std::shared_ptr<T> find(const handle_table<T>& table, Handle handle, const char* what) {
  auto found = table.find(handle);
  if (found != nullptr) return found;
  if (handle == nullptr) throw refusal(cudaErrorInvalidValue, fmt::format("a null {}", what));
  throw misuse(cudaErrorInvalidValue, fmt::format("{} {}", fmt::ptr(handle),
                                                  table.was(handle) ? "was destroyed" : "is none"));
}

template <class T, class Handle>
void destroy(call& c, handle_table<T>& table, Handle handle, const char* what) {
  c.released.push_back(find(table, handle, what));
  table.erase(handle);
  need_context(c.m);
}

void instantiate(call& c, cudaGraphExec_t* handle, cudaGraph_t of, unsigned long long flags) {
  need_context(c.m);
  require(handle != nullptr, "a null pointer");
  constexpr unsigned long long known =
      cudaGraphInstantiateFlagAutoFreeOnLaunch | cudaGraphInstantiateFlagUseNodePriority;
  require((flags & ~known) == 0, "flags that there are not, or that are not modelled");
  const auto from = find(c.m.graphs, of, "graph");
  auto made = std::make_shared<graph_exec>();
  made->nodes = from->nodes;
  made->retained = from->retained;
  made->flags = flags;
  made->made_by = c.entry_point;
  *handle = c.m.execs.add<cudaGraphExec_t>(std::move(made));
}

// The memory that was named in the capture has to be there still.
void check_memory(call& c, const graph_exec& launched) {
  for (const graph_node& node : launched.nodes) {
    for (const block_ptr& used : node.what.uses) {
      if (c.m.blocks.beginning_at(used->begin) == used) continue;
      throw misuse(cudaErrorInvalidValue,
                   fmt::format("the graph uses memory that was freed, at {:#x}", used->begin));
    }
  }
}

void launch(call& c, graph_exec& launched, stream& on) {
  const work_ptr start = enqueue(c, on, {}, std::span(&launched.last, 1));
  std::vector<work_ptr> enqueued, before, leaves = {start};
  for (const graph_node& node : launched.nodes) {
    before = {start};
    for (const std::size_t each : node.after) before.push_back(enqueued[each]);
    if (node.what.told != nullptr) {
      c.m.recorded.add(*node.what.told, "replayed", node.device, on.number);
    }
    enqueued.push_back(c.m.runs.submit(node.what, node.device, node.priority, before));
    c.m.devices[std::size_t(node.device)]->pending.insert(enqueued.back()->number);
    leaves.push_back(enqueued.back());
  }
  launched.last = enqueue(c, on, {}, leaves);
}

}  // namespace

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return enter(__func__, [&](call&) {
    require(mode != nullptr, "a null pointer");
    require(*mode >= cudaStreamCaptureModeGlobal && *mode <= cudaStreamCaptureModeRelaxed,
            "no mode of captures");
    std::swap(*mode, this_thread().capture_mode);
  });
}

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  return enter(__func__, [&](call& c) {
    const stream_ptr on = find_stream(c, handle);
    require(mode >= cudaStreamCaptureModeGlobal && mode <= cudaStreamCaptureModeRelaxed,
            "no mode of captures");
    if (on->legacy) {
      throw refusal(cudaErrorStreamCaptureUnsupported, "the legacy stream cannot be captured");
    }
    if (on->captured != nullptr) throw refusal(cudaErrorIllegalState, "it is captured already");
    auto made = std::make_shared<capture>();
    made->id = c.m.next_id++;
    made->mode = mode;
    made->thread = std::this_thread::get_id();
    made->origin = on;
    made->streams = {on};
    on->captured = made;
    on->frontier.clear();
    c.m.captures.push_back(std::move(made));
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph_handle) {
  return enter(__func__, [&](call& c) {
    require(graph_handle != nullptr, "a null pointer");
    const stream_ptr on = find_stream(c, handle);
    const auto ended = on->captured;
    if (ended == nullptr) throw refusal(cudaErrorIllegalState, "the stream is not captured");
    if (ended->origin.lock() != on) {
      ended->invalid = true;
      throw refusal(cudaErrorStreamCaptureUnmatched, "the capture began on another stream");
    }
    if (ended->mode != cudaStreamCaptureModeRelaxed &&
        ended->thread != std::this_thread::get_id()) {
      throw refusal(cudaErrorStreamCaptureWrongThread, "the capture began on another thread");
    }
    *graph_handle = nullptr;
    const bool joined = ended->joined(on->frontier);
    c.released.push_back(ended->made);
    end_capture(c.m, ended);
    if (ended->invalid) {
      if (ended->told_graph != nullptr) c.m.graphs.erase(ended->told_graph);
      throw refusal(cudaErrorStreamCaptureInvalidated, "the capture is invalid");
    }
    if (!joined) {
      if (ended->told_graph != nullptr) c.m.graphs.erase(ended->told_graph);
      throw refusal(cudaErrorStreamCaptureUnjoined, "work of another stream was not joined");
    }
    ended->made->made_by = c.entry_point;
    *graph_handle =
        ended->told_graph != nullptr ? ended->told_graph : c.m.graphs.add<cudaGraph_t>(ended->made);
  });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  return enter(__func__, [&](call& c) {
    require(status != nullptr, "a null pointer");
    *status = capture_status(c, *find_stream(c, handle));
  });
}

cudaError_t cudaGraphCreate(cudaGraph_t* handle, unsigned flags) {
  return enter(__func__, [&](call& c) {
    need_context(c.m);
    require(handle != nullptr && flags == 0, "a null pointer, or flags");
    auto made = std::make_shared<graph>();
    made->made_by = c.entry_point;
    *handle = c.m.graphs.add<cudaGraph_t>(std::move(made));
  });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t handle, cudaGraphNode_t* nodes, size_t* count) {
  return enter(__func__, [&](call& c) {
    need_context(c.m);
    require(count != nullptr, "a null pointer");
    const auto asked = find(c.m.graphs, handle, "graph");
    const std::size_t there = asked->nodes.size();
    if (nodes != nullptr) {
      for (std::size_t i = 0; i < *count; ++i) {
        nodes[i] = i < there ? node_handle(*asked, i) : nullptr;
      }
    }
    *count = nodes == nullptr ? there : std::min(*count, there);
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t handle) {
  return enter(__func__, entry::release, [&](call& c) { destroy(c, c.m.graphs, handle, "graph"); });
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* handle, cudaGraph_t of,
                                          unsigned long long flags) {
  return enter(__func__, [&](call& c) { instantiate(c, handle, of, flags); });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* handle, cudaGraph_t of,
                                 unsigned long long flags) {
  return enter(__func__, [&](call& c) { instantiate(c, handle, of, flags); });
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t handle, unsigned long long* flags) {
  return enter(__func__, [&](call& c) {
    require(flags != nullptr, "a null pointer");
    *flags = find(c.m.execs, handle, "executable graph")->flags;
  });
}

cudaError_t cudaGraphUpload(cudaGraphExec_t handle, cudaStream_t stream_handle) {
  return enter(__func__, [&](call& c) {
    const stream_ptr on = find_stream(c, stream_handle);
    find(c.m.execs, handle, "executable graph");
    refuse_captured(c, *on);
    enqueue(c, *on, {});
  });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t stream_handle) {
  return enter(__func__, [&](call& c) {
    const stream_ptr on = find_stream(c, stream_handle);
    const auto launched = find(c.m.execs, handle, "executable graph");
    check_capture(c, *on);
    check_memory(c, *launched);
    if (on->captured != nullptr) {
      on->captured->add_all(launched->nodes, on->frontier);
    } else {
      launch(c, *launched, *on);
    }
  });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t handle) {
  return enter(__func__, entry::release,
               [&](call& c) { destroy(c, c.m.execs, handle, "executable graph"); });
}
