// Parts of a storage as ranges of byte offsets, so that a stage copies no more bytes than needed.
#pragma once

#include <c10/core/TensorImpl.h>

#include <cstddef>
#include <vector>

namespace outback::ops {

/// The bytes from offset `begin` up to, but not including, `end`.
struct byte_range {
  size_t begin = 0;
  size_t end = 0;

  bool empty() const { return begin >= end; }
};

/// Returns the byte range that a strided tensor covers in its storage: from its first to its last
/// element, with the gaps between elements. The range is empty for a tensor without elements.
byte_range bytes_of(const c10::TensorImpl& tensor);

/// A set of bytes, kept as ranges in ascending order that neither overlap nor touch. Not
/// thread-safe.
class byte_ranges {
 public:
  void add(byte_range added);

  /// Returns the number of bytes in the set.
  size_t size() const;

  /// Returns the bytes from 0 up to `size` that are not in the set.
  byte_ranges others(size_t size) const;

  auto begin() const { return ranges_.begin(); }
  auto end() const { return ranges_.end(); }

 private:
  std::vector<byte_range> ranges_;
};

}  // namespace outback::ops
