// The types of NCCL's interface, as numbers and addresses: its header is not needed to build this.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fake_nccl {

enum result : int {
  success = 0,
  unhandled_cuda_error = 1,
  system_error = 2,
  invalid_argument = 4,
  invalid_usage = 5,
  remote_error = 6
};

enum class dtype : int {
  int8,
  uint8,
  int32,
  uint32,
  int64,
  uint64,
  float16,
  float32,
  float64,
  bfloat16,
  float8_e4m3,
  float8_e5m2
};

/// Numbers from `built_in` on are those of operations that a communicator has made.
enum reduction : int { sum = 0, product = 1, maximum = 2, minimum = 3, average = 4, built_in = 5 };

/// What the ranks of a communicator agree on before they meet.
struct unique_id {
  char bytes[128];
};

using cuda_stream = void*;
constexpr int version = 22907;  // whose functions these are

}  // namespace fake_nccl
