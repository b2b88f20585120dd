// Entry points: variables of device code, by what stands for them in the program.
#include <fmt/format.h>

#include "tests/fakes/cudart/copy.hpp"
#include "tests/fakes/cudart/memory.hpp"

using namespace fake_cuda;

namespace {

block& find(call& c, const void* host) {
  device& current = need_context(c.m);
  const auto found = c.m.variables.find(host);
  if (found == c.m.variables.end()) {
    throw refusal(cudaErrorInvalidSymbol, fmt::format("{} is no variable of a device", host));
  }
  block_ptr& here = found->second.on[current.index];
  if (here == nullptr) {
    here = allocate_device(c.m, current, found->second.size, "a variable");
    here->kept = true;
  }
  return *here;
}

void copy_to(call& c, const void* symbol, const void* from, std::size_t size, std::size_t offset,
             cudaMemcpyKind kind, stream& on) {
  copy(c, reinterpret_cast<void*>(find(c, symbol).begin + offset), from, size, kind, on);
}

void copy_from(call& c, void* to, const void* symbol, std::size_t size, std::size_t offset,
               cudaMemcpyKind kind, stream& on) {
  copy(c, to, reinterpret_cast<void*>(find(c, symbol).begin + offset), size, kind, on);
}

}  // namespace

cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  return enter(__func__, [&](call& c) {
    require(address != nullptr, "a null pointer");
    *address = reinterpret_cast<void*>(find(c, symbol).begin);
  });
}

cudaError_t cudaGetSymbolSize(size_t* size, const void* symbol) {
  return enter(__func__, [&](call& c) {
    require(size != nullptr, "a null pointer");
    *size = find(c, symbol).size;
  });
}

cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t size,
                                    size_t offset, cudaMemcpyKind kind, cudaStream_t handle) {
  return enter(__func__, [&](call& c) {
    copy_to(c, symbol, from, size, offset, kind, *find_stream_here(c, handle));
  });
}

cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t size, size_t offset,
                                      cudaMemcpyKind kind, cudaStream_t handle) {
  return enter(__func__, [&](call& c) {
    copy_from(c, to, symbol, size, offset, kind, *find_stream_here(c, handle));
  });
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t size, size_t offset,
                               cudaMemcpyKind kind) {
  return enter(__func__, [&](call& c) {
    const stream_ptr legacy = find_stream(c, nullptr);
    refuse_unsafe(c);
    copy_to(c, symbol, from, size, offset, kind, *legacy);
    synchronize(c, *legacy);
  });
}

cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t size, size_t offset,
                                 cudaMemcpyKind kind) {
  return enter(__func__, [&](call& c) {
    const stream_ptr legacy = find_stream(c, nullptr);
    refuse_unsafe(c);
    copy_from(c, to, symbol, size, offset, kind, *legacy);
    synchronize(c, *legacy);
  });
}
