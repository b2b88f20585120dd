// Entry points: events.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "tests/fakes/cudart/enqueue.hpp"

using namespace fake_cuda;

namespace {

void create(call& c, cudaEvent_t* handle, unsigned flags) {
  const device& current = need_context(c.m);
  require(handle != nullptr, "a null pointer");
  constexpr unsigned known = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
  require((flags & ~known) == 0, "flags that there are not");
  require((flags & cudaEventInterprocess) == 0 || (flags & cudaEventDisableTiming) != 0,
          "an interprocess event has no timing: cudaEventDisableTiming has to be set");
  auto made = std::make_shared<event>();
  made->device = current.index;
  made->flags = flags;
  made->made_by = c.entry_point;
  if ((flags & cudaEventInterprocess) != 0) {
    made->shared = shared_event::make();
    if (made->shared == nullptr) throw failure(cudaErrorMemoryAllocation);
  }
  *handle = c.m.events.add<cudaEvent_t>(std::move(made));
}

void record(call& c, cudaEvent_t handle, cudaStream_t stream_handle) {
  const event_ptr recorded = find_event(c, handle);
  const stream_ptr on = find_stream(c, stream_handle);
  if (recorded->device != on->device) {
    throw refusal(cudaErrorInvalidResourceHandle,
                  fmt::format("an event of device {} on a stream of device {}", recorded->device,
                              on->device));
  }
  check_capture(c, *on);
  recorded->recorded = true;
  if (on->captured != nullptr) {
    recorded->in_capture = true;
    recorded->captured = on->captured;
    recorded->frontier = on->frontier;
    recorded->last = nullptr;
    return;
  }
  recorded->in_capture = false;
  recorded->captured.reset();
  task what;
  if (recorded->shared != nullptr) {
    what.body = [shared = recorded->shared, number = recorded->shared->record()] {
      shared->finish(number);
    };
  }
  recorded->last = enqueue(c, *on, std::move(what));
}

void wait_in_capture(const stream_ptr& waiting, const event& awaited) {
  const auto other = awaited.captured.lock();
  if (other == nullptr) {
    if (!awaited.recorded) return;
    if (waiting->captured != nullptr) waiting->captured->invalid = true;
    if (awaited.in_capture) {
      throw refusal(cudaErrorCapturedEvent, "the event was recorded in a capture that is over");
    }
    throw refusal(cudaErrorStreamCaptureIsolation,
                  "a captured stream would wait for work outside of the capture");
  }
  if (other->invalid) {
    throw refusal(cudaErrorStreamCaptureInvalidated, "the capture of the event is invalid");
  }
  if (waiting->captured == nullptr) {
    if (waiting->legacy) {
      other->invalid = true;
      throw refusal(cudaErrorStreamCaptureUnsupported, "the legacy stream cannot be captured");
    }
    other->streams.push_back(waiting);
    waiting->captured = other;
    waiting->frontier.clear();
  } else if (waiting->captured != other) {
    waiting->captured->invalid = other->invalid = true;
    throw refusal(cudaErrorStreamCaptureMerge, "two captures would become one");
  }
  for (const std::size_t node : awaited.frontier) {
    if (std::find(waiting->frontier.begin(), waiting->frontier.end(), node) ==
        waiting->frontier.end()) {
      waiting->frontier.push_back(node);
    }
  }
}

// Waiting for an event that stands for a place in a capture, or asking it.
void refuse_in_capture(const event& asked) {
  if (!asked.in_capture) return;
  if (const auto capture = asked.captured.lock()) capture->invalid = true;
  throw refusal(cudaErrorCapturedEvent, "the event was recorded in a capture");
}

}  // namespace

cudaError_t cudaEventCreate(cudaEvent_t* handle) {
  return enter(__func__, [&](call& c) { create(c, handle, cudaEventDefault); });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* handle, unsigned flags) {
  return enter(__func__, [&](call& c) { create(c, handle, flags); });
}

cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  return enter(__func__, entry::release, [&](call& c) {
    const event_ptr gone = c.m.events.find(handle);
    if (gone == nullptr) {
      if (c.m.events.was(handle)) {
        throw misuse(cudaErrorInvalidResourceHandle, "the event was destroyed before");
      }
      throw refusal(cudaErrorInvalidResourceHandle, "no event");
    }
    c.m.events.erase(handle);
    c.m.check_alive(*c.m.devices[std::size_t(gone->device)]);
    need_context(c.m);
  });
}

cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t on) {
  return enter(__func__, [&](call& c) { record(c, handle, on); });
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t handle, cudaStream_t on, unsigned flags) {
  return enter(__func__, [&](call& c) {
    if (flags == cudaEventRecordExternal) {
      throw refusal(cudaErrorNotSupported, "external records are not modelled");
    }
    require(flags == cudaEventRecordDefault, "flags that there are not");
    record(c, handle, on);
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event_handle, unsigned flags) {
  return enter(__func__, [&](call& c) {
    if (flags == cudaEventWaitExternal) {
      throw refusal(cudaErrorNotSupported, "external waits are not modelled");
    }
    require(flags == cudaEventWaitDefault, "flags that there are not");
    const stream_ptr waiting = find_stream(c, handle);
    const event_ptr awaited = find_event(c, event_handle);
    check_capture(c, *waiting);
    if (waiting->captured != nullptr || awaited->in_capture) {
      wait_in_capture(waiting, *awaited);
      return;
    }
    if (awaited->shared != nullptr) {
      const uint64_t number = awaited->shared->recorded();
      if (awaited->shared->done(number)) return;
      enqueue(c, *waiting,
              {.kind = work_kind::wait,
               .body = [shared = awaited->shared, number] { shared->wait(number); },
               .uses = {}});
    } else if (!awaited->done()) {
      enqueue(c, *waiting, {}, std::span(&awaited->last, 1));
    }
  });
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  return enter(__func__, [&](call& c) {
    const event_ptr asked = find_event(c, handle);
    refuse_in_capture(*asked);
    refuse_unsafe(c);
    c.m.check_alive(*c.m.devices[std::size_t(asked->device)]);
    if (!asked->done()) throw failure(cudaErrorNotReady);
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  return enter(__func__, [&](call& c) {
    const event_ptr awaited = find_event(c, handle);
    refuse_in_capture(*awaited);
    refuse_unsafe(c);
    const device& on = *c.m.devices[std::size_t(awaited->device)];
    c.m.check_alive(on);
    if (awaited->shared != nullptr) {
      const uint64_t number = awaited->shared->recorded();
      c.lock.unlock();
      awaited->shared->wait(number);
      c.lock.lock();
    } else {
      c.m.wait_for(c.lock, work_ptr(awaited->last));
    }
    c.m.check_alive(on);
  });
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end) {
  return enter(__func__, [&](call& c) {
    require(ms != nullptr, "a null pointer");
    const event_ptr from = find_event(c, start), to = find_event(c, end);
    refuse_in_capture(*from);
    refuse_in_capture(*to);
    for (const event_ptr& each : {from, to}) {
      c.m.check_alive(*c.m.devices[std::size_t(each->device)]);
      if ((each->flags & cudaEventDisableTiming) != 0) {
        throw refusal(cudaErrorInvalidResourceHandle, "an event without timing");
      }
      if (!each->recorded) throw refusal(cudaErrorInvalidResourceHandle, "an event not recorded");
    }
    if (from->device != to->device) {
      throw refusal(cudaErrorInvalidResourceHandle, "events of two devices");
    }
    if (!from->done() || !to->done()) throw failure(cudaErrorNotReady);
    *ms = std::chrono::duration<float, std::milli>(to->last->time - from->last->time).count();
  });
}
