// Communicators, errors and memory.
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <sys/random.h>

#include <cstring>
#include <exception>

#include "tests/fakes/nccl/handle.hpp"

using namespace fake_nccl;

namespace {

// Makes a communicator on the current device; the exception of `make` becomes the answer.
template <class Make>
result make_handle(handle** made, const Make& make) {
  *made = nullptr;
  try {
    std::unique_ptr<communicator> held = make();
    if (held != nullptr) *made = new handle{std::move(held)};
    return success;
  } catch (const std::exception& error) {
    last_error() = error.what();
    return system_error;
  }
}

int current_device() {
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) throw std::runtime_error("cudaGetDevice failed");
  return device;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int ncclGetVersion(int* told) {
  *told = version;
  return success;
}

int ncclGetUniqueId(unique_id* made) {
  *made = {};
  std::uint64_t number[2];
  if (getrandom(number, sizeof(number), 0) != sizeof(number)) return system_error;
  const std::string text = fmt::format("{:016x}{:016x}", number[0], number[1]);
  std::memcpy(made->bytes, text.data(), text.size());
  return success;
}

int ncclCommInitRankConfig(handle** made, int ranks, unique_id id, int rank, void*) {
  if (rank < 0 || rank >= ranks) return invalid_argument;
  return make_handle(made, [&] {
    return std::make_unique<communicator>(id.bytes, rank, ranks, current_device());
  });
}
int ncclCommInitRank(handle** made, int ranks, unique_id id, int rank) {
  return ncclCommInitRankConfig(made, ranks, id, rank, nullptr);
}
int ncclCommInitRankScalable(handle** made, int ranks, int rank, int, unique_id* ids,
                             void* config) {
  return ncclCommInitRankConfig(made, ranks, ids[0], rank, config);
}
int ncclCommSplit(handle* of, int color, int key, handle** made, void*) {
  return make_handle(made, [&] { return of->held->split(color, key); });
}
int ncclCommShrink(handle* of, int* excluded, int count, handle** made, void*, int) {
  return make_handle(made, [&] { return of->held->without({excluded, excluded + count}); });
}

// Nothing is left to be done by a wait: the work on the streams holds what it needs.
int ncclCommFinalize(handle*) {
  return success;
}
int ncclCommDestroy(handle* gone) {
  delete gone;
  return success;
}
int ncclCommAbort(handle* gone) {
  if (gone == nullptr) return success;
  gone->held->abort();
  delete gone;
  return success;
}
int ncclCommRevoke(handle* of, int) {
  of->held->abort();
  return success;
}

int ncclCommGetAsyncError(handle* of, int* error) {
  *error = of->held->error();
  return success;
}
int ncclCommCount(handle* of, int* count) {
  *count = of->held->size();
  return success;
}
int ncclCommUserRank(handle* of, int* rank) {
  *rank = of->held->rank();
  return success;
}

const char* ncclGetErrorString(int error) {
  static constexpr const char* texts[] = {
      "no error",         "unhandled cuda error", "unhandled system error", "internal error",
      "invalid argument", "invalid usage",        "remote process exited",  "in progress"};
  return error >= 0 && error < 8 ? texts[error] : "unknown result code";
}
const char* ncclGetLastError(handle* of) {
  if (of != nullptr && of->held->error() != success) last_error() = of->held->error_text();
  return last_error().c_str();
}

int ncclMemAlloc(void** made, size_t size) {
  return cudaMalloc(made, size) == cudaSuccess ? success : unhandled_cuda_error;
}
int ncclMemFree(void* gone) {
  return cudaFree(gone) == cudaSuccess ? success : unhandled_cuda_error;
}
// All memory of the device is as good for it.
int ncclCommRegister(handle*, void* memory, size_t, void** registered) {
  *registered = memory;
  return success;
}
int ncclCommDeregister(handle*, void*) {
  return success;
}

}  // extern "C"
