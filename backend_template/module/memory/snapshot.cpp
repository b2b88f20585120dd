// Snapshots: what the allocator holds and what happened to it, as the dicts that PyTorch's memory
// visualizer (torch/cuda/_memory_viz.py) reads. The keys are torch.cuda's.
#include <c10/core/AllocatorConfig.h>
#include <torch/csrc/profiler/combined_traceback.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/memory/allocator/caches.h"
#include "backend_template/module/memory/memory.h"

namespace py = pybind11;

namespace outback::python {
namespace {

using c10::CachingDeviceAllocator::RecordContext;
using core::segment_info;
using core::trace_entry;
using context = std::shared_ptr<c10::GatheredContext>;

struct device_state {
  std::vector<segment_info> segments;
  std::vector<trace_entry> trace;
};

// Collects the stacks that a snapshot needs. Symbolizing is slow, and faster for many stacks at
// once, so `fill` does it for all of them at the end.
class frames {
 public:
  /// Lets `fill` set `dict["frames"]` to the stack of `who`. Without a stack it is an empty list at
  /// once.
  void want(const py::dict& dict, const context& who) {
    auto* const traceback = dynamic_cast<torch::CapturedTraceback*>(who.get());
    if (traceback == nullptr) {
      dict["frames"] = py::list();
      return;
    }
    const auto [it, is_new] = numbers_.try_emplace(traceback, tracebacks_.size());
    if (is_new) tracebacks_.push_back(traceback);
    wanting_.emplace_back(dict, it->second);
  }

  void fill() {
    const torch::SymbolizedTracebacks found = torch::symbolize(tracebacks_);
    py::list
        all;  // one dict for each frame, which the stacks share: most frames are in many of them
    for (const auto& frame : found.all_frames) {
      py::dict dict;
      dict["filename"] = frame.filename;
      dict["name"] = frame.funcname;
      dict["line"] = frame.lineno;
      all.append(dict);
    }
    std::vector<py::list> stacks;
    for (const auto& traceback : found.tracebacks) {
      py::list stack;
      for (const uint64_t number : traceback) stack.append(all[number]);
      stacks.push_back(std::move(stack));
    }
    for (const auto& [dict, number] : wanting_) dict["frames"] = stacks[number];
  }

 private:
  std::vector<torch::CapturedTraceback*> tracebacks_;
  std::unordered_map<torch::CapturedTraceback*, size_t> numbers_;
  std::vector<std::pair<py::dict, size_t>> wanting_;
};

// Streams are numbers in torch.cuda's snapshots.
int64_t stream_number(const void* stream) {
  return reinterpret_cast<int64_t>(stream);
}

// A block is active until no stream uses it any more, also after its tensor is gone.
const char* state_name(bool allocated, bool active) {
  if (allocated) return "active_allocated";
  return active ? "active_pending_free" : "inactive";
}

py::dict dict_of_segment(const segment_info& info, frames& stacks) {
  py::dict segment;
  segment["device"] = static_cast<int>(info.device);
  segment["address"] = info.address;
  segment["total_size"] = info.total_size;
  segment["allocated_size"] = info.allocated_size;
  segment["active_size"] = info.active_size;
  segment["requested_size"] = info.requested_size;
  segment["stream"] = stream_number(info.stream);
  segment["segment_type"] = info.is_large ? "large" : "small";
  segment["segment_pool_id"] = info.owner_private_pool_id;
  segment["is_expandable"] = info.is_expandable;
  stacks.want(segment, info.context_when_allocated);
  py::list blocks;
  size_t address = info.address;
  for (const auto& part : info.blocks) {
    py::dict block;
    block["address"] = address;
    block["size"] = part.size;
    block["requested_size"] = part.requested_size;
    block["state"] = state_name(part.allocated, part.active);
    stacks.want(block, part.context_when_allocated);
    blocks.append(block);
    address += part.size;
  }
  segment["blocks"] = blocks;
  return segment;
}

// In the order of trace_entry::Action.
constexpr const char* action_names[] = {"alloc",         "free_requested", "free_completed",
                                        "segment_alloc", "segment_free",   "segment_map",
                                        "segment_unmap", "snapshot",       "oom"};

py::dict dict_of_entry(const trace_entry& event, int64_t microseconds, frames& stacks) {
  py::dict entry;
  entry["action"] = action_names[event.action_];
  entry[event.action_ == trace_entry::OOM ? "device_free" : "addr"] = event.addr_;
  entry["size"] = event.size_;
  entry["stream"] = stream_number(event.stream_);
  entry["time_us"] = microseconds;
  entry["compile_context"] = event.compile_context_;
  entry["user_metadata"] = event.user_metadata_;
  entry["pool_id"] = event.mempool_;
  stacks.want(entry, event.context_);
  return entry;
}

// The settings as torch.cuda's snapshot has them; they come from torch's own configuration.
py::dict allocator_settings() {
  using config = c10::CachingAllocator::AcceleratorAllocatorConfig;
  py::dict settings;
  settings["PYTORCH_ALLOC_CONF"] = config::last_allocator_settings();
  settings["max_split_size"] = static_cast<int64_t>(config::max_split_size());
  settings["garbage_collection_threshold"] = config::garbage_collection_threshold();
  settings["expandable_segments"] = config::use_expandable_segments();
  py::dict divisions;
  size_t from = 1;  // MiB
  for (const size_t number : config::roundup_power2_divisions()) {
    divisions[py::str(std::to_string(from))] = number;
    from *= 2;
  }
  settings["roundup_power2_divisions"] = divisions;
  return settings;
}

// Copies the state of all devices; the lists of a device that was never used are empty.
std::vector<device_state> gather_state(c10::MempoolId_t pool, bool with_traces) {
  std::vector<device_state> all(static_cast<size_t>(core::device_count()));
  if (!core::is_started()) return all;
  for (size_t i = 0; i < all.size(); ++i) {
    core::device_cache* const cache = core::cache_if_used(static_cast<c10::DeviceIndex>(i));
    if (cache == nullptr) continue;
    all[i].segments = cache->segments(pool);
    if (with_traces) all[i].trace = cache->trace(core::gather_context(RecordContext::ALLOC));
  }
  return all;
}

// Returns the stack of the live allocation at `address`, or None.
py::object allocation_traceback(size_t address) {
  frames stacks;
  py::dict found;
  for (const device_state& device : gather_state({0, 0}, false)) {
    for (const segment_info& segment : device.segments) {
      size_t at = segment.address;
      for (const auto& block : segment.blocks) {
        if (at == address && block.allocated && block.context_when_allocated != nullptr) {
          stacks.want(found, block.context_when_allocated);
          stacks.fill();
          return found["frames"];
        }
        at += block.size;
      }
    }
  }
  return py::none();
}

// Returns a snapshot in torch.cuda's form, of one pool or, for {0, 0}, of everything: the segments
// of all devices and, `with_traces`, the events that were recorded. Starts nothing.
py::dict take_snapshot(c10::MempoolId_t pool, bool with_traces) {
  std::vector<device_state> state;
  {
    const py::gil_scoped_release no_gil;
    state = gather_state(pool, with_traces);
  }
  // Entries hold cheap clock ticks; this turns them into nanoseconds since 1970.
  const auto to_unix = core::entry_clock();
  frames stacks;
  py::list segments;
  py::list traces;
  for (const device_state& device : state) {
    for (const segment_info& segment : device.segments)
      segments.append(dict_of_segment(segment, stacks));
    py::list trace;
    for (const trace_entry& entry : device.trace) {
      trace.append(dict_of_entry(entry, to_unix(entry.time_.approx_t_) / 1000, stacks));
    }
    traces.append(trace);
  }
  stacks.fill();
  py::dict all;
  all["segments"] = segments;
  all["device_traces"] = traces;
  all["allocator_settings"] = allocator_settings();
  all["external_annotations"] = py::list();
  return all;
}

}  // namespace

void define_memory_snapshots(function_scope& memory, function_scope& native) {
  native.def("take_snapshot", &take_snapshot);
  memory.def(
      "_allocation_traceback", &allocation_traceback, py::arg("data_ptr"),
      py::doc("The stack that allocated the memory at this address, a list of frames; None where "
              "nothing was recorded."));
}

}  // namespace outback::python
