// Which bytes a tensor covers, and whether two tensors have one in common.
#pragma once

#include <ATen/core/TensorBase.h>

#include <cstdint>
#include <vector>

namespace outback::core {

/// The bytes of a strided tensor: runs of `run` bytes that lie next to one another, one for each
/// index into `dims`. A plain value, which does not keep the memory alive.
struct footprint {
  struct dim {
    int64_t size, stride;  // in bytes; more than 1, and more than 0
  };

  /// Of a tensor that has a storage. It is empty for a tensor without elements.
  static footprint of(const at::TensorBase& tensor);

  uintptr_t begin = 0, end = 0;  // from the first byte to behind the last one
  int64_t run = 0;
  std::vector<dim> dims;  // the largest stride first; empty if all bytes lie next to one another

  bool is_empty() const { return begin == end; }
  int64_t runs() const;
  /// Returns true if each byte of `other` is in this one's range, and this one has no gaps.
  bool covers(const footprint& other) const;
};

/// Returns true if the two have a byte in common: the halves of a matrix, cut through its columns,
/// have none. Of two that have very many runs each it says false, since it would have to look at
/// all.
bool overlap(const footprint& one, const footprint& other);

}  // namespace outback::core
