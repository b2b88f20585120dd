#include "tests/fakes/cudart/enqueue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace fake_cuda {
namespace {

stream_ptr default_stream(call& c, bool of_thread) {
  device& current = need_context(c.m);
  if (!of_thread) return current.legacy;
  stream_ptr& found = this_thread().streams[current.index];
  if (found == nullptr) {
    found = std::make_shared<stream>();
    found->device = current.index;
    found->own = false;
    found->id = c.m.next_id++;
    std::erase_if(current.of_threads, [](const auto& each) { return each.expired(); });
    current.of_threads.push_back(found);
  }
  return found;
}

// All streams of the device that the legacy stream waits for, and that wait for it.
std::vector<stream_ptr> blocking_streams(machine& m, int device) {
  std::vector<stream_ptr> all;
  for (const auto& [handle, each] : m.streams.all()) {
    if (each->device == device && each->blocking()) all.push_back(each);
  }
  for (const auto& each : m.devices[std::size_t(device)]->of_threads) {
    if (const auto alive = each.lock()) all.push_back(alive);
  }
  return all;
}

}  // namespace

stream_ptr find_stream(call& c, cudaStream_t handle) {
  // A runtime call makes a context current, whatever the stream.
  device& current = need_context(c.m);
  if (handle == nullptr || handle == cudaStreamLegacy) return default_stream(c, false);
  if (handle == cudaStreamPerThread) return default_stream(c, true);
  stream_ptr found = c.m.streams.find(handle);
  if (found == nullptr) {
    throw misuse(cudaErrorInvalidResourceHandle,
                 c.m.streams.was(handle) ? "the stream was destroyed"
                                         : fmt::format("{} is no stream", fmt::ptr(handle)));
  }
  if (found->device != current.index) c.m.check_alive(*c.m.devices[std::size_t(found->device)]);
  return found;
}

stream_ptr find_stream_here(call& c, cudaStream_t handle) {
  stream_ptr found = find_stream(c, handle);
  const int current = need_context(c.m).index;
  if (found->device != current) {
    throw refusal(cudaErrorInvalidResourceHandle,
                  fmt::format("the stream is one of device {}, and device {} is current",
                              found->device, current));
  }
  return found;
}

event_ptr find_event(call& c, cudaEvent_t handle) {
  need_context(c.m);
  event_ptr found = c.m.events.find(handle);
  if (found != nullptr) return found;
  if (handle == nullptr) throw refusal(cudaErrorInvalidResourceHandle, "a null event");
  throw misuse(cudaErrorInvalidResourceHandle,
               c.m.events.was(handle) ? "the event was destroyed"
                                      : fmt::format("{} is no event", fmt::ptr(handle)));
}

std::vector<work_ptr> outstanding(machine& m, const stream& of) {
  std::vector<work_ptr> all = {of.last};
  if (of.legacy) {
    for (const stream_ptr& each : blocking_streams(m, of.device)) all.push_back(each->last);
    auto& orphans = m.devices[std::size_t(of.device)]->orphans;
    std::erase_if(orphans, [](const work_ptr& each) { return each->done; });
    all.insert(all.end(), orphans.begin(), orphans.end());
  } else if (of.blocking()) {
    all.push_back(m.devices[std::size_t(of.device)]->legacy->last);
  }
  return all;
}

work_ptr enqueue(call& c, stream& on, task what, std::span<const work_ptr> after) {
  check_capture(c, on);
  if (what.told != nullptr) {
    c.m.recorded.add(*what.told, on.captured != nullptr ? "captured" : "now", on.device, on.number);
  }
  if (on.captured != nullptr) {
    on.captured->add(
        {.what = std::move(what), .device = on.device, .priority = on.priority, .after = {}},
        on.frontier);
    return nullptr;
  }
  std::vector<work_ptr> before = outstanding(c.m, on);
  before.insert(before.end(), after.begin(), after.end());
  on.last = c.m.runs.submit(std::move(what), on.device, on.priority, before);
  c.m.devices[std::size_t(on.device)]->pending.insert(on.last->number);
  return on.last;
}

void check_capture(call& c, stream& on) {
  if (on.captured != nullptr && on.captured->invalid) {
    throw refusal(cudaErrorStreamCaptureInvalidated, "the capture of the stream is invalid");
  }
  if (!on.legacy) return;
  for (const stream_ptr& each : blocking_streams(c.m, on.device)) {
    if (each->captured == nullptr) continue;
    each->captured->invalid = true;
    throw refusal(cudaErrorStreamCaptureImplicit,
                  "the legacy stream would wait for a stream that is being captured");
  }
}

cudaStreamCaptureStatus capture_status(call& c, stream& asked) {
  if (asked.legacy) check_capture(c, asked);
  if (asked.captured == nullptr) return cudaStreamCaptureStatusNone;
  return asked.captured->invalid ? cudaStreamCaptureStatusInvalidated
                                 : cudaStreamCaptureStatusActive;
}

void refuse_unsafe(call& c) {
  const auto mode = this_thread().capture_mode;
  if (mode == cudaStreamCaptureModeRelaxed) return;
  const auto here = std::this_thread::get_id();
  bool refused = false;
  for (const auto& each : c.m.captures) {
    const bool own = each->thread == here && each->mode != cudaStreamCaptureModeRelaxed;
    const bool of_others =
        mode == cudaStreamCaptureModeGlobal && each->mode == cudaStreamCaptureModeGlobal;
    if (!own && !of_others) continue;
    each->invalid = refused = true;
  }
  if (refused) {
    throw refusal(cudaErrorStreamCaptureUnsupported,
                  "a call that may synchronize, while a capture forbids it");
  }
}

void refuse_captured(call& c, stream& asked) {
  if (asked.captured == nullptr) return check_capture(c, asked);
  if (asked.captured->invalid) {
    throw refusal(cudaErrorStreamCaptureInvalidated, "the capture of the stream is invalid");
  }
  asked.captured->invalid = true;
  throw refusal(cudaErrorStreamCaptureUnsupported, "the stream is being captured");
}

void refuse_captures_of(call& c, const device& asked) {
  bool refused = false;
  for (const auto& each : c.m.captures) {
    for (const auto& member : each->streams) {
      const auto alive = member.lock();
      if (alive == nullptr || alive->device != asked.index || alive->captured != each) continue;
      each->invalid = refused = true;
    }
  }
  if (refused) {
    throw refusal(cudaErrorStreamCaptureUnsupported, "a stream of the device is being captured");
  }
}

void end_capture(machine& m, const std::shared_ptr<capture>& ended) {
  for (const auto& each : ended->streams) {
    const auto alive = each.lock();
    if (alive == nullptr || alive->captured != ended) continue;
    alive->captured.reset();
    alive->frontier.clear();
  }
  std::erase(m.captures, ended);
}

}  // namespace fake_cuda
