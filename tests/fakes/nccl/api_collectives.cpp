// Operations, and groups of them.
#include "tests/fakes/nccl/group.hpp"
#include "tests/fakes/nccl/handle.hpp"
#include "tests/fakes/nccl/numbers.hpp"

using namespace fake_nccl;

namespace {

result refuse(const char* why) {
  last_error() = why;
  return invalid_argument;
}

// Checks the call as NCCL does, and adds it.
result call(handle* of, operation what, cuda_stream stream) {
  if (of == nullptr) return refuse("a null communicator");
  const communicator& on = *of->held;
  if (size_of(what.of) == 0) return refuse("no such dtype");
  if (what.peer < 0 || what.peer >= on.size()) return refuse("no such rank");
  if (what.how < 0) return refuse("no such reduction");
  if (what.how >= built_in) {
    const std::lock_guard lock(of->held->enqueueing);
    const auto number = static_cast<std::size_t>(what.how - built_in);
    if (number >= on.reductions.size()) return refuse("no such reduction");
    what.factor = on.reductions[number];
    if (what.factor.of != what.of) return refuse("the reduction was made for another dtype");
  }
  return add(of->held, what, stream);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int ncclAllReduce(const void* from, void* to, size_t count, dtype of, reduction how, handle* on,
                  cuda_stream stream) {
  return call(on, {kind::all_reduce, from, to, count, of, how}, stream);
}
int ncclReduce(const void* from, void* to, size_t count, dtype of, reduction how, int root,
               handle* on, cuda_stream stream) {
  return call(on, {kind::reduce, from, to, count, of, how, {}, root}, stream);
}
int ncclBroadcast(const void* from, void* to, size_t count, dtype of, int root, handle* on,
                  cuda_stream stream) {
  return call(on, {kind::broadcast, from, to, count, of, sum, {}, root}, stream);
}
int ncclBcast(void* both, size_t count, dtype of, int root, handle* on, cuda_stream stream) {
  return ncclBroadcast(both, both, count, of, root, on, stream);
}
int ncclAllGather(const void* from, void* to, size_t count, dtype of, handle* on,
                  cuda_stream stream) {
  return call(on, {kind::all_gather, from, to, count, of}, stream);
}
int ncclReduceScatter(const void* from, void* to, size_t count, dtype of, reduction how, handle* on,
                      cuda_stream stream) {
  return call(on, {kind::reduce_scatter, from, to, count, of, how}, stream);
}
int ncclAlltoAll(const void* from, void* to, size_t count, dtype of, handle* on,
                 cuda_stream stream) {
  return call(on, {kind::all_to_all, from, to, count, of}, stream);
}
int ncclGather(const void* from, void* to, size_t count, dtype of, int root, handle* on,
               cuda_stream stream) {
  return call(on, {kind::gather, from, to, count, of, sum, {}, root}, stream);
}
int ncclScatter(const void* from, void* to, size_t count, dtype of, int root, handle* on,
                cuda_stream stream) {
  return call(on, {kind::scatter, from, to, count, of, sum, {}, root}, stream);
}
int ncclSend(const void* from, size_t count, dtype of, int peer, handle* on, cuda_stream stream) {
  return call(on, {kind::send, from, nullptr, count, of, sum, {}, peer}, stream);
}
int ncclRecv(void* to, size_t count, dtype of, int peer, handle* on, cuda_stream stream) {
  return call(on, {kind::receive, nullptr, to, count, of, sum, {}, peer}, stream);
}

int ncclGroupStart() {
  start_group();
  return success;
}
int ncclGroupEnd() {
  return end_group();
}
int ncclGroupSimulateEnd(void*) {
  return drop_group();
}

// The factor is in the host's memory, or stays on the device until the operation runs.
int ncclRedOpCreatePreMulSum(int* made, void* factor, dtype of, int on_host, handle* on) {
  if (on == nullptr || size_of(of) == 0) return refuse("no communicator or no such dtype");
  multiplied_sum what = {.of = of, .factor = 0, .factor_on_device = factor};
  if (on_host != 0) {
    what.factor = read_number(of, static_cast<const std::byte*>(factor));
    what.factor_on_device = nullptr;
  }
  const std::lock_guard lock(on->held->enqueueing);
  on->held->reductions.push_back(what);
  *made = built_in + static_cast<int>(on->held->reductions.size()) - 1;
  return success;
}
int ncclRedOpDestroy(int, handle*) {
  return success;
}

}  // extern "C"
