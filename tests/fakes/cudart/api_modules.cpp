// Entry points that nvcc's output calls when a library is loaded: its fat binaries, kernels and
// variables. crt/host_runtime.h declares them for that output alone.
#include "tests/fakes/cudart/enter.hpp"

using namespace fake_cuda;

// None needs a driver: torch's libraries are loaded on machines without one.
#pragma GCC visibility push(default)
extern "C" {

// The handle of a binary is where the program keeps it.
void** __cudaRegisterFatBinary(void* binary) {
  return new void*(binary);
}
void __cudaRegisterFatBinaryEnd(void**) {}
// What was registered stays: work may name it until the process ends.
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) {
  return 1;
}

void __cudaRegisterFunction(void** binary, const char* host, char*, const char* symbol, int, uint3*,
                            uint3*, dim3*, dim3*, int*) {
  const call c(__func__);
  // What a test has said of it stays.
  if (const kernel* const known = c.m.kernels.find(host); known != nullptr && known->body) return;
  kernel& made = c.m.kernels.add(host);
  made.symbol = symbol;
  made.fat_binary = *binary;
}

void __cudaRegisterVar(void**, char* host, char*, const char* symbol, int, size_t size, int, int) {
  const call c(__func__);
  c.m.variables[host] = {.symbol = symbol, .size = size, .on = {}};
}

void __cudaRegisterManagedVar(void**, void**, char*, const char*, int, size_t, int, int) {}
void __cudaRegisterHostVar(void**, const char*, char*, size_t) {}
void __cudaRegisterTexture(void**, const void*, const void**, const char*, int, int, int) {}
void __cudaRegisterSurface(void**, const void*, const void**, const char*, int, int) {}
void __cudaRegisterUnifiedTable(void*) {}

}  // extern "C"
#pragma GCC visibility pop
