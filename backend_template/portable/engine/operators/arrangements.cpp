// Operators that arrange elements anew, at places that the host knows.
#include <ATen/WrapDimUtils.h>
#include <ATen/WrapDimUtilsMulti.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>

#include <vector>

#include "backend_template/core/streams/stream.h"
#include "backend_template/ops/tensors/tensor_fields.h"
#include "backend_template/portable/engine/index_kernels.h"
#include "backend_template/portable/engine/kernel_family.h"
#include "backend_template/portable/engine/operators.h"
#include "backend_template/portable/engine/operators/structured.h"

namespace outback::portable {
namespace {

constinit kernel_family triangle_kernels("move", "triangle");

void keep_triangle(const at::Tensor& self, int64_t diagonal, bool is_upper, const at::Tensor& out) {
  if (out.numel() == 0) return;
  walk elements(self.sizes());
  elements.add(walk::out, out, out.strides());
  elements.add(walk::in, self, self.strides());
  const kernels::packed_kernel& kernel =
      triangle_kernels.of(self.device().index(), type_of_size(self.element_size()));
  // Not simplified: the kernel needs the two innermost dimensions. A part would have other rows.
  if (!elements.fits()) throw no_kernel();
  const c10::Stream stream = core::current_stream(self.device().index());
  elements.in_parts([&](const places& lie, const walk& part, int64_t count) {
    launch(stream, kernel, groups_for(count, kernel), lie, count, diagonal,
           static_cast<int32_t>(is_upper), part.pointer(walk::out), part.pointer(walk::in));
  });
}

struct tril : at::meta::structured_tril {
  void impl(const at::Tensor& self, int64_t diagonal, const at::Tensor& out) {
    keep_triangle(self, diagonal, false, out);
  }
};

struct triu : at::meta::structured_triu {
  void impl(const at::Tensor& self, int64_t diagonal, const at::Tensor& out) {
    keep_triangle(self, diagonal, true, out);
  }
};

at::Tensor flip(const at::Tensor& self, c10::IntArrayRef dims) {
  const auto flipped = at::dim_list_to_bitset(dims, self.dim());
  at::Tensor out = at::empty_like(self, at::MemoryFormat::Preserve);
  c10::DimVector strides(self.strides());
  int64_t start = 0;
  if (self.numel() != 0) {
    for (int64_t d = 0; d < self.dim(); ++d) {
      if (!flipped[static_cast<size_t>(d)]) continue;
      start += (self.size(d) - 1) * self.stride(d);
      strides[d] = -self.stride(d);
    }
  }
  walk elements(self.sizes());
  elements.add(walk::out, out, out.strides());
  elements.add(walk::in, self, strides);
  launch_copy(elements, self.element_size(), self.device().index(), start * self.element_size());
  return out;
}

// Writes the elements of `self` to `out`, each `shift` places further in dimension `dim`.
void roll_one(const at::Tensor& out, const at::Tensor& self, int64_t shift, int64_t dim) {
  const int64_t size = self.size(dim);
  if (self.numel() == 0) return;
  const int64_t begin = ((shift % size) + size) % size;
  const auto move = [&](int64_t to, int64_t from, int64_t count) {
    if (count == 0) return;
    c10::DimVector sizes(self.sizes());
    sizes[dim] = count;
    walk elements(sizes);
    elements.add(walk::out, out, out.strides(), to * out.stride(dim));
    elements.add(walk::in, self, self.strides(), from * self.stride(dim));
    launch_copy(elements, self.element_size(), self.device().index());
  };
  move(begin, 0, size - begin);
  move(0, size - begin, begin);
}

at::Tensor roll(const at::Tensor& self, c10::SymIntArrayRef symbolic_shifts,
                c10::IntArrayRef dims) {
  const c10::IntArrayRef shifts = C10_AS_INTARRAYREF_SLOW(symbolic_shifts);
  if (dims.empty() && shifts.size() == 1) {  // the elements as one line
    const at::Tensor line = contiguous(self).view({self.numel()});
    at::Tensor out = at::empty(self.sizes(), self.options());
    roll_one(out.view({self.numel()}), line, shifts[0], 0);
    return out;
  }
  // The CPU refuses other numbers of shifts.
  const bool is_served = shifts.size() == dims.size() && !dims.empty() && self.dim() > 0;
  if (!is_served) return next<at::_ops::roll>::call(self, symbolic_shifts, dims);
  at::Tensor rolled = self;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t dim = at::maybe_wrap_dim(dims[i], self.dim());
    at::Tensor out = at::empty(self.sizes(), self.options());
    roll_one(out, rolled, shifts[i], dim);
    rolled = out;
  }
  return rolled;
}

// Whether pad has the lower and the upper width of the last dimensions, and all fit.
bool can_pad(const at::Tensor& self, c10::IntArrayRef pad) {
  if (pad.size() % 2 != 0 || static_cast<int64_t>(pad.size()) / 2 > self.dim()) return false;
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const int64_t size = self.size(-1 - static_cast<int64_t>(i));
    if (size + std::min<int64_t>(pad[2 * i], 0) + std::min<int64_t>(pad[2 * i + 1], 0) < 0 ||
        size + pad[2 * i] + pad[2 * i + 1] < 0) {
      return false;
    }
  }
  return true;
}

at::Tensor constant_pad_nd(const at::Tensor& self, c10::SymIntArrayRef symbolic_pad,
                           const at::Scalar& value) {
  const c10::IntArrayRef pad = C10_AS_INTARRAYREF_SLOW(symbolic_pad);
  if (!can_pad(self, pad)) {
    return next<at::_ops::constant_pad_nd>::call(self, symbolic_pad, value);
  }
  c10::DimVector sizes(self.sizes()), inner(self.sizes());
  std::vector<int64_t> to(static_cast<size_t>(self.dim()), 0), from = to;
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const size_t d = static_cast<size_t>(self.dim()) - 1 - i;
    const int64_t before = pad[2 * i], after = pad[2 * i + 1];
    sizes[d] += before + after;
    inner[d] += std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0);
    to[d] = std::max<int64_t>(before, 0);
    from[d] = std::max<int64_t>(-before, 0);
  }
  at::Tensor out = at::empty(sizes, self.options().memory_format(self.suggest_memory_format()));
  out.fill_(value);
  int64_t out_offset = 0, self_offset = 0;
  for (int64_t d = 0; d < self.dim(); ++d) {
    out_offset += to[static_cast<size_t>(d)] * out.stride(d);
    self_offset += from[static_cast<size_t>(d)] * self.stride(d);
  }
  walk elements(inner);
  elements.add(walk::out, out, out.strides(), out_offset);
  elements.add(walk::in, self, self.strides(), self_offset);
  launch_copy(elements, self.element_size(), self.device().index());
  return out;
}

}  // namespace

void add_arrangements(ops::registrar& to) {
  namespace ops = at::_ops;
  add<ops::flip, &flip>(to);
  add<ops::roll, &roll>(to);
  add<ops::constant_pad_nd, &constant_pad_nd>(to);
  add_structured<tril, ops::tril, ops::tril_, ops::tril_out>(to);
  add_structured<triu, ops::triu, ops::triu_, ops::triu_out>(to);
}

}  // namespace outback::portable
