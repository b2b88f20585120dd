#include "backend_template/portable/engine/walk.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <vector>

#include "backend_template/portable/engine/kernel_cache.h"

namespace outback::portable {

void walk::add(size_t which, const at::Tensor& tensor, c10::IntArrayRef strides, int64_t offset) {
  operand& added = operands_.at(which);
  const int64_t bytes = tensor.element_size();
  added.data = static_cast<char*>(tensor.data_ptr()) + offset * bytes;
  added.type = static_cast<int32_t>(tensor.scalar_type());
  for (const int64_t stride : strides) added.stride.push_back(stride * bytes);
}

void walk::put_first(c10::IntArrayRef dims) {
  std::vector<size_t> order(dims.begin(), dims.end());
  for (size_t d = 0; d < size_.size(); ++d) {
    if (std::find(dims.begin(), dims.end(), static_cast<int64_t>(d)) == dims.end()) {
      order.push_back(d);
    }
  }
  const auto reorder = [&](c10::SmallVector<int64_t, 8>& of_dims) {
    if (of_dims.empty()) return;
    const c10::SmallVector<int64_t, 8> before = of_dims;
    for (size_t d = 0; d < order.size(); ++d) of_dims[d] = before[order[d]];
  };
  reorder(size_);
  for (operand& each : operands_) reorder(each.stride);
}

int64_t walk::count() const {
  int64_t all = 1;
  for (const int64_t size : size_) all *= size;
  return all;
}

void walk::simplify() {
  size_t kept = 0;
  for (size_t d = 0; d < size_.size(); ++d) {
    if (size_[d] == 1) continue;
    const bool joins =
        kept > 0 && std::all_of(operands_.begin(), operands_.end(), [&](const operand& each) {
          return each.stride.empty() || each.stride[kept - 1] == each.stride[d] * size_[d];
        });
    if (joins) {
      size_[kept - 1] *= size_[d];
    } else {
      size_[kept++] = size_[d];
    }
    for (operand& each : operands_) {
      if (!each.stride.empty()) each.stride[kept - 1] = each.stride[d];
    }
  }
  if (kept > places::most_dims) throw no_kernel();
  size_.resize(kept);
  for (operand& each : operands_) {
    if (!each.stride.empty()) each.stride.resize(kept);
  }
}

int64_t walk::widen(int64_t element_size, int64_t step) {
  constexpr int64_t widest = 8;
  if (size_.empty()) return element_size;
  const size_t last = size_.size() - 1;
  const auto& along_index = operands_[index].stride;
  if (!along_index.empty() && along_index[last] != 0) return element_size;
  int64_t bytes = element_size;
  const auto fits = [&](int64_t wanted) {
    if (step % wanted != 0 || size_[last] % (wanted / element_size) != 0) return false;
    for (const size_t which : {out, in}) {
      const operand& each = operands_.at(which);
      if (each.stride.empty() || each.stride[last] != element_size ||
          reinterpret_cast<uintptr_t>(each.data) % static_cast<uintptr_t>(wanted) != 0) {
        return false;
      }
      for (size_t d = 0; d < last; ++d) {
        if (each.stride[d] % wanted != 0) return false;
      }
    }
    return true;
  };
  while (bytes < widest && fits(bytes * 2)) bytes *= 2;
  size_[last] /= bytes / element_size;
  for (const size_t which : {out, in}) {
    operand& each = operands_.at(which);
    if (!each.stride.empty() && bytes != element_size) each.stride[last] = bytes;
  }
  return bytes;
}

int walk::dimension_to_split() const {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  bool is_large = count() > most;
  for (const operand& each : operands_) {
    int64_t span = 0;
    for (size_t d = 0; d < each.stride.size(); ++d) {
      span += (size_[d] - 1) * std::abs(each.stride[d]);
    }
    is_large |= span > most;
  }
  if (!is_large) return -1;
  return static_cast<int>(std::max_element(size_.begin(), size_.end()) - size_.begin());
}

void walk::split(size_t dim, walk& first, walk& second) const {
  const int64_t half = size_[dim] / 2;
  first.size_[dim] = half;
  second.size_[dim] = size_[dim] - half;
  for (operand& each : second.operands_) {
    if (!each.stride.empty()) each.data += half * each.stride[dim];
  }
}

places walk::as_places() const {
  places made = {};
  made.dims = static_cast<int32_t>(size_.size());
  for (size_t d = 0; d < size_.size(); ++d) {
    made.size[d] = static_cast<uint32_t>(size_[size_.size() - 1 - d]);
  }
  for (size_t i = 0; i < operands_.size(); ++i) {
    made.types[i] = operands_[i].type;
    for (size_t d = 0; d < operands_[i].stride.size(); ++d) {
      made.stride[i][d] = static_cast<uint32_t>(operands_[i].stride[size_.size() - 1 - d]);
    }
  }
  return made;
}

}  // namespace outback::portable
