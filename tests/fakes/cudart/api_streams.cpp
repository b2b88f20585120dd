// Entry points: streams, and host functions in them.
#include <algorithm>

#include "tests/fakes/cudart/attributes.hpp"
#include "tests/fakes/cudart/copy.hpp"
#include "tests/fakes/cudart/enqueue.hpp"

using namespace fake_cuda;

namespace {

void create(call& c, cudaStream_t* handle, unsigned flags, int priority) {
  device& current = need_context(c.m);
  require(handle != nullptr, "a null pointer");
  require(flags == cudaStreamDefault || flags == cudaStreamNonBlocking, "flags that there are not");
  auto made = std::make_shared<stream>();
  made->device = current.index;
  made->flags = flags;
  made->priority = std::clamp(priority, greatest_priority, least_priority);
  made->id = c.m.next_id++;
  made->number = ++current.streams;
  made->made_by = c.entry_point;
  *handle = c.m.streams.add<cudaStream_t>(std::move(made));
}

// A thread of the executor runs a user's function, which may not call CUDA.
auto as_host_function(std::function<void()> function) {
  return [function = std::move(function)] {
    this_thread().in_host_function = true;
    function();
    this_thread().in_host_function = false;
  };
}

void add_host_function(call& c, cudaStream_t handle, std::function<void()> function) {
  enqueue(c, *find_stream_here(c, handle),
          {.kind = work_kind::host_function,
           .body = as_host_function(std::move(function)),
           .uses = {}});
}

}  // namespace

cudaError_t cudaStreamCreate(cudaStream_t* handle) {
  return enter(__func__, [&](call& c) { create(c, handle, cudaStreamDefault, 0); });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* handle, unsigned flags) {
  return enter(__func__, [&](call& c) { create(c, handle, flags, 0); });
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* handle, unsigned flags, int priority) {
  return enter(__func__, [&](call& c) { create(c, handle, flags, priority); });
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  return enter(__func__, entry::release, [&](call& c) {
    stream_ptr gone = c.m.streams.find(handle);
    if (gone == nullptr) {
      if (c.m.streams.was(handle)) {
        throw misuse(cudaErrorInvalidResourceHandle, "the stream was destroyed before");
      }
      throw refusal(cudaErrorInvalidResourceHandle, "no stream that can be destroyed");
    }
    c.m.streams.erase(handle);
    if (gone->blocking() && !gone->idle()) {
      c.m.devices[std::size_t(gone->device)]->orphans.push_back(gone->last);
    }
    if (gone->captured != nullptr) {
      gone->captured->invalid = true;
      if (gone->captured->origin.lock() == gone) end_capture(c.m, std::shared_ptr(gone->captured));
      throw misuse(cudaErrorStreamCaptureUnsupported, "the stream was being captured");
    }
    c.m.check_alive(*c.m.devices[std::size_t(gone->device)]);
    need_context(c.m);
  });
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return enter(__func__, [&](call& c) {
    const stream_ptr asked = find_stream(c, handle);
    refuse_captured(c, *asked);
    refuse_unsafe(c);
    for (const work_ptr& each : outstanding(c.m, *asked)) {
      if (!asked->legacy && each != asked->last) continue;
      if (each != nullptr && !each->done) throw failure(cudaErrorNotReady);
    }
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return enter(__func__, [&](call& c) {
    const stream_ptr awaited = find_stream(c, handle);
    refuse_captured(c, *awaited);
    refuse_unsafe(c);
    synchronize(c, *awaited);
  });
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
  return enter(__func__, [&](call& c) {
    require(priority != nullptr, "a null pointer");
    *priority = find_stream(c, handle)->priority;
  });
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned* flags) {
  return enter(__func__, [&](call& c) {
    require(flags != nullptr, "a null pointer");
    *flags = find_stream(c, handle)->flags;
  });
}

cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long* id) {
  return enter(__func__, [&](call& c) {
    require(id != nullptr, "a null pointer");
    *id = find_stream(c, handle)->id;
  });
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* index) {
  return enter(__func__, [&](call& c) {
    require(index != nullptr, "a null pointer");
    const stream_ptr asked = find_stream(c, handle);
    refuse_captured(c, *asked);  // as libcudart 13.0 does on a device
    refuse_unsafe(c);
    *index = asked->device;
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* data) {
  return enter(__func__, [&](call& c) {
    require(function != nullptr, "a null function");
    add_host_function(c, handle, [function, data] { function(data); });
  });
}

cudaError_t cudaStreamAddCallback(cudaStream_t handle, cudaStreamCallback_t callback, void* data,
                                  unsigned flags) {
  return enter(__func__, [&](call& c) {
    require(callback != nullptr && flags == 0, "a null function, or flags");
    refuse_captured(c, *find_stream(c, handle));
    add_host_function(c, handle, [=] { callback(handle, cudaSuccess, data); });
  });
}
