// How a kernel that does not go by a TensorIterator walks over its operands.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/SmallVector.h>

#include <array>
#include <cstdint>

#include "backend_template/portable/engine/launch.h"

namespace outback::portable {

/// `places` in portable/kernels/shape.h.
struct places {
  static constexpr int most_dims = 8;
  static constexpr int most_operands = 4;

  int32_t dims;
  std::array<int32_t, most_operands> types;
  int32_t reserved;
  std::array<uint32_t, most_dims> size;
  std::array<std::array<uint32_t, most_dims>, most_operands> stride;
};

/// All elements of up to four operands: out, in, and an index for some kernels. The last dimension
/// is the innermost one, as in a tensor.
class walk {
 public:
  static constexpr size_t out = 0, in = 1, index = 2;

  /// The elements of `sizes`, of operands that are added.
  explicit walk(c10::IntArrayRef sizes) : size_(sizes.begin(), sizes.end()) {}

  /// Adds an operand: the memory of `tensor` from `offset`, in elements, with these strides, in
  /// elements and one for each dimension; 0 where the operand does not go along.
  void add(size_t operand, const at::Tensor& tensor, c10::IntArrayRef strides, int64_t offset = 0);

  /// Puts these dimensions first, so that they are the outermost ones.
  void put_first(c10::IntArrayRef dims);

  /// Returns the number of elements.
  int64_t count() const;

  /// Leaves out dimensions of size 1 and joins dimensions that are one for all operands. Elements
  /// keep their order. Throws no_kernel if more than 8 dimensions are left.
  void simplify();

  /// Makes elements of up to 8 bytes of several smaller ones, where all operands lie so. Only for
  /// kernels that move elements of `out` and `in`. `step` is one more distance in bytes by which
  /// the kernel reads or writes. Returns the size of an element. Call it after `simplify`.
  int64_t widen(int64_t element_size, int64_t step = 0);

  /// Calls `launch_part(const places&, const walk&, int64_t count)` for parts whose offsets fit
  /// into 32 bits; for few elements that is one part. Call it after `simplify`.
  template <class Launch>
  void in_parts(const Launch& launch_part) const {
    if (const int widest = dimension_to_split(); widest >= 0) {
      walk first = *this, second = *this;
      split(static_cast<size_t>(widest), first, second);
      first.in_parts(launch_part);
      second.in_parts(launch_part);
    } else {
      launch_part(as_places(), *this, count());
    }
  }
  /// True if `in_parts` makes one part.
  bool fits() const { return dimension_to_split() < 0; }

  /// Returns the operand's first element, for a kernel's argument.
  device_pointer pointer(size_t operand) const { return {operands_.at(operand).data}; }

 private:
  struct operand {
    char* data = nullptr;
    int32_t type = 0;
    c10::SmallVector<int64_t, 8> stride;  // in bytes; empty for an operand that is not there
  };

  int dimension_to_split() const;
  void split(size_t dim, walk& first, walk& second) const;
  places as_places() const;

  c10::SmallVector<int64_t, 8> size_;
  std::array<operand, places::most_operands> operands_;
};

/// Returns the strides with 0 in the place of dimension `dim`.
inline c10::SmallVector<int64_t, 8> without(c10::IntArrayRef strides, int64_t dim) {
  c10::SmallVector<int64_t, 8> all(strides.begin(), strides.end());
  all[static_cast<size_t>(dim)] = 0;
  return all;
}

/// Returns `dims` strides: `stride` in the place of dimension `dim`, and 0 in all others.
inline c10::SmallVector<int64_t, 8> only(int64_t dims, int64_t dim, int64_t stride) {
  c10::SmallVector<int64_t, 8> all(static_cast<size_t>(dims), 0);
  all[static_cast<size_t>(dim)] = stride;
  return all;
}

}  // namespace outback::portable
