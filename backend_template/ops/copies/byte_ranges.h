// Parts of a storage, in bytes.
#pragma once

#include <c10/core/TensorImpl.h>

#include <cstddef>
#include <vector>

namespace outback::ops {

struct byte_range {
  size_t begin = 0;
  size_t end = 0;

  bool empty() const { return begin >= end; }
};

/// What a tensor covers of its storage, gaps included.
byte_range bytes_of(const c10::TensorImpl& tensor);

/// A set of bytes: ranges in ascending order that do not touch.
class byte_ranges {
 public:
  void add(byte_range added);

  /// How many bytes there are.
  size_t size() const;

  /// The bytes below `size` that are not in the set.
  byte_ranges others(size_t size) const;

  auto begin() const { return ranges_.begin(); }
  auto end() const { return ranges_.end(); }

 private:
  std::vector<byte_range> ranges_;
};

}  // namespace outback::ops
