// The device memory slots of the CUDA runtime.
#include <string>

#include "backend_template/runtimes/cuda/cuda_runtime.hpp"
#include "backend_template/runtimes/cuda/current.hpp"

namespace outback::cuda {
namespace {

// Returns what is free, for the text of an error. Something has failed already, so a further
// failure only makes the text shorter.
std::string what_is_free(const device& d) {
  std::size_t free = 0, total = 0;
  if (d.cuda().cudaMemGetInfo(&free, &total) != cudaSuccess) {
    d.cuda().cudaGetLastError();
    return "";
  }
  return "; " + std::to_string(free) + " of " + std::to_string(total) + " bytes are free";
}

}  // namespace

void* cuda_runtime::mem_alloc(int32_t index, std::size_t size) {
  device& d = at(index);
  if (size == 0) return nullptr;
  if (size > d.memory_size()) {
    throw out_of_memory("the device has " + std::to_string(d.memory_size()) + " bytes in all");
  }
  const beside_captures here(d);
  void* ptr = nullptr;
  const cudaError_t error = d.cuda().cudaMalloc(&ptr, size);
  if (error == cudaSuccess) return ptr;
  // Cleared before `what_is_free` calls CUDA again.
  d.cuda().cudaGetLastError();
  d.fail(error, d.cuda().cudaMalloc.name,
         error == cudaErrorMemoryAllocation ? what_is_free(d) : std::string());
}

void cuda_runtime::mem_free(int32_t index, void* ptr) {
  device& d = at(index);
  if (ptr == nullptr) return;
  const beside_captures here(d);
  pointer_attributes attributes = {};
  d.call(d.cuda().cudaPointerGetAttributes, &attributes.known, static_cast<const void*>(ptr));
  // Otherwise a pointer of another device would reach cudaFree, and the caller's mistake might go
  // unnoticed.
  if (attributes.known.type != cudaMemoryTypeDevice || attributes.known.device != index) {
    throw invalid_argument("the pointer is not of memory of device " + std::to_string(index));
  }
  d.call(d.cuda().cudaFree, ptr);
}

}  // namespace outback::cuda
