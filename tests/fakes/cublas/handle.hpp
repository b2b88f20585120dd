// What a handle of cuBLAS keeps, and how its functions come into the record of the fake CUDA
// runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace fake_cublas {

// cublasStatus_t, cudaStream_t and the like are numbers and addresses here: cuBLAS's headers are
// not needed to build this.
constexpr int success = 0, not_initialized = 1, invalid_value = 7, execution_failed = 13,
              not_supported = 15;
constexpr int version = 130101;  // whose functions these are

struct handle {
  void* stream = nullptr;
  int math_mode = 0, pointer_mode = 0, atomics_mode = 0, multiprocessors = 0, emulation = 0;
};

/// A parameter that was passed where an address might be.
using word = std::uintptr_t;

/// Records a call of `name` on that stream, with `kinds` of parameters as functions.inc has them.
int add_call(const char* name, const char* kinds, const word* parameters, void* stream);
/// The same, with `described` for what is no address, and these addresses.
int add_call(const std::string& described, const void* const* addresses, int count, void* stream);

}  // namespace fake_cublas
