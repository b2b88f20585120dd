#include "backend_template/core/races/footprint.h"

#include <algorithm>
#include <span>

namespace outback::core {
namespace {

constexpr int64_t most_runs = 1 << 14;

using dims = std::span<const footprint::dim>;

// From the first byte to behind the last one.
int64_t extent(dims outer, int64_t run) {
  int64_t bytes = run;
  for (const footprint::dim& each : outer) bytes += (each.size - 1) * each.stride;
  return bytes;
}

// Whether the range [first, last) has a byte of the runs that begin at 0.
bool meets(dims outer, int64_t run, int64_t first, int64_t last) {
  if (last <= 0 || first >= extent(outer, run)) return false;
  if (outer.empty()) return true;
  const auto [size, stride] = outer.front();
  const dims inner = outer.subspan(1);
  // Of the indices, those whose part begins before `last` and ends behind `first`.
  const int64_t behind = first - extent(inner, run);
  const int64_t from = behind < 0 ? 0 : behind / stride + 1;
  const int64_t to = std::min(size - 1, (last - 1) / stride);
  for (int64_t index = from; index <= to; ++index) {
    if (meets(inner, run, first - index * stride, last - index * stride)) return true;
  }
  return false;
}

// Whether a run of the first one, which begin at `offset`, meets the second one's, at 0.
bool any_meets(dims outer, int64_t run, int64_t offset, const footprint& other) {
  if (outer.empty()) return meets(other.dims, other.run, offset, offset + run);
  for (int64_t index = 0; index < outer.front().size; ++index) {
    if (any_meets(outer.subspan(1), run, offset + index * outer.front().stride, other)) return true;
  }
  return false;
}

}  // namespace

footprint footprint::of(const at::TensorBase& tensor) {
  footprint made;
  if (tensor.numel() == 0) return made;
  const int64_t size = static_cast<int64_t>(tensor.element_size());
  made.begin = reinterpret_cast<uintptr_t>(tensor.const_data_ptr());
  made.run = size;
  std::vector<dim> all;
  for (int64_t each = 0; each < tensor.dim(); ++each) {
    // Elements that an expanded tensor repeats are one.
    if (tensor.size(each) > 1 && tensor.stride(each) > 0)
      all.push_back({tensor.size(each), tensor.stride(each) * size});
  }
  std::sort(all.begin(), all.end(), [](dim a, dim b) { return a.stride < b.stride; });
  for (const dim& each : all) {
    // Windows that overlap, as unfold makes them, cover the same as one run.
    if (made.dims.empty() && each.stride <= made.run) {
      made.run += (each.size - 1) * each.stride;
    } else {
      made.dims.push_back(each);
    }
  }
  std::reverse(made.dims.begin(), made.dims.end());
  made.end = made.begin + static_cast<uintptr_t>(extent(made.dims, made.run));
  return made;
}

int64_t footprint::runs() const {
  int64_t count = 1;
  for (const dim& each : dims) count *= each.size;
  return count;
}

bool footprint::covers(const footprint& other) const {
  return dims.empty() && begin <= other.begin && other.end <= end;
}

bool overlap(const footprint& one, const footprint& other) {
  if (one.begin >= other.end || other.begin >= one.end) return false;
  if (one.dims.empty() && other.dims.empty()) return true;
  const bool other_first = other.runs() < one.runs();
  const footprint& few = other_first ? other : one;
  const footprint& many = other_first ? one : other;
  if (few.runs() > most_runs) return false;
  return any_meets(few.dims, few.run,
                   static_cast<int64_t>(few.begin) - static_cast<int64_t>(many.begin), many);
}

}  // namespace outback::core
