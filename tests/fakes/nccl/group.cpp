#include "tests/fakes/nccl/group.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <utility>

#include "tests/fakes/cudart/fake_kernels.h"

namespace fake_nccl {
namespace {

// What a group has for one communicator.
struct batch {
  communicator_ptr on;
  cuda_stream stream;
  std::vector<operation> all;
};

struct group {
  int depth = 0;
  std::vector<batch> batches;
};
thread_local group current;

result fail(const char* what) {
  last_error() = what;
  return unhandled_cuda_error;
}

// Of these operations the last one's line in the record is that of the work.
bool record_others(const batch& given) {
  for (std::size_t i = 0; i + 1 < given.all.size(); ++i) {
    const operation& each = given.all[i];
    const void* const addresses[] = {each.from, each.to};
    if (fake_cudart_call(each.text().c_str(), given.stream, addresses, 2) != 0) return false;
  }
  return true;
}

result enqueue_on_device(batch given) {
  communicator& on = *given.on;
  const std::lock_guard lock(on.enqueueing);
  const auto stream = static_cast<cudaStream_t>(given.stream);
  auto latest = static_cast<cudaEvent_t>(on.latest_work);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (cudaStreamIsCapturing(stream, &status) != cudaSuccess) return fail("cudaStreamIsCapturing");
  const bool orders = status == cudaStreamCaptureStatusNone;
  if (orders && latest == nullptr) {
    if (cudaEventCreateWithFlags(&latest, cudaEventDisableTiming) != cudaSuccess) {
      return fail("cudaEventCreateWithFlags");
    }
    on.latest_work = latest;
  } else if (orders && cudaStreamWaitEvent(stream, latest, 0) != cudaSuccess) {
    return fail("cudaStreamWaitEvent");
  }
  if (!record_others(given)) return fail("the stream takes no work");
  const operation& last = given.all.back();
  const std::string text = last.text();
  const void* const addresses[] = {last.from, last.to};
  auto* const made = new batch(std::move(given));
  const auto body = [](void* data) {
    const batch& work = *static_cast<batch*>(data);
    run(*work.on, work.all);
  };
  const auto release = [](void* data) { delete static_cast<batch*>(data); };
  if (fake_cudart_call_with_body(text.c_str(), made->stream, addresses, 2, body, made, release) !=
      0) {
    return fail("the stream takes no work");
  }
  if (orders && cudaEventRecord(latest, stream) != cudaSuccess) return fail("cudaEventRecord");
  return success;
}

result enqueue(batch given) {
  int before = 0;
  if (cudaGetDevice(&before) != cudaSuccess) return fail("cudaGetDevice");
  const int device = given.on->device();
  if (device != before && cudaSetDevice(device) != cudaSuccess) return fail("cudaSetDevice");
  const result done = enqueue_on_device(std::move(given));
  if (device != before && cudaSetDevice(before) != cudaSuccess) return fail("cudaSetDevice");
  return done;
}

}  // namespace

result add(const communicator_ptr& on, operation what, cuda_stream stream) {
  if (current.depth == 0) return enqueue({on, stream, {what}});
  auto& all = current.batches;
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const batch& each) { return each.on == on; });
  if (found == all.end()) {
    all.push_back({on, stream, {what}});
  } else if (found->stream == stream) {
    found->all.push_back(what);
  } else {
    last_error() = "a group of operations on two streams of one communicator is not modelled";
    return invalid_usage;
  }
  return success;
}

void start_group() {
  ++current.depth;
}

result end_group() {
  if (current.depth == 0) {
    last_error() = "ncclGroupEnd without ncclGroupStart";
    return invalid_usage;
  }
  if (--current.depth > 0) return success;
  result all = success;
  for (batch& each : std::exchange(current.batches, {})) {
    const result done = enqueue(std::move(each));
    if (all == success) all = done;
  }
  return all;
}

result drop_group() {
  if (current.depth > 0) --current.depth;
  current.batches.clear();
  return success;
}

}  // namespace fake_nccl
