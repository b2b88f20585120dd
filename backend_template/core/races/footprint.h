// Finds the bytes that a tensor covers, and whether two tensors share a byte.
#pragma once

#include <ATen/core/TensorBase.h>

#include <cstdint>
#include <vector>

namespace outback::core {

/// The bytes of a strided tensor: one run of `run` adjacent bytes for each index into `dims`. A
/// plain value, which does not keep the memory alive.
struct footprint {
  struct dim {
    int64_t size, stride;  // `size` is above 1; `stride` is in bytes and above 0
  };

  /// Returns the footprint of a tensor that has a storage. It is empty for a tensor without
  /// elements.
  static footprint of(const at::TensorBase& tensor);

  uintptr_t begin = 0, end = 0;  // from the first byte to just after the last one
  int64_t run = 0;
  std::vector<dim> dims;  // the largest stride first; empty if all bytes are adjacent

  bool is_empty() const { return begin == end; }
  int64_t runs() const;
  /// Returns true if this footprint has no gaps and its range contains all bytes of `other`.
  bool covers(const footprint& other) const;
};

/// Returns true if the two share a byte. The left and the right half of a matrix share none, for
/// example. Returns false if both have very many runs, since comparing them would take too long.
bool overlap(const footprint& one, const footprint& other);

}  // namespace outback::core
