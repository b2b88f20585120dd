// Operators that move elements from or to places that an index has along one dimension, or in the
// flattened tensor.
#include <ATen/Context.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/native/Resize.h>

#include <optional>

#include "backend_template/ops/tensors/tensor_fields.h"
#include "backend_template/portable/engine/index_kernels.h"
#include "backend_template/portable/engine/index_sums.h"
#include "backend_template/portable/engine/operators.h"
#include "backend_template/portable/engine/operators/index_dims.h"
#include "backend_template/portable/engine/operators/structured.h"

namespace outback::portable {
namespace {

constinit core::kernel_fault index_select_fault("aten::index_select: an index is out of range");
constinit core::kernel_fault take_fault("aten::take: an index is out of range");
constinit core::kernel_fault put_fault("aten::put_: an index is out of range");
constinit core::kernel_fault gather_fault("aten::gather: an index is out of range");
constinit core::kernel_fault scatter_fault("aten::scatter: an index is out of range");
constinit core::kernel_fault index_copy_fault("aten::index_copy: an index is out of range");
constinit core::kernel_fault index_fill_fault("aten::index_fill: an index is out of range");

// Walks over `index_shaped`, with the index along all dimensions.
walk over(const at::Tensor& index, const at::Tensor& out, c10::IntArrayRef out_strides,
          const at::Tensor& in, c10::IntArrayRef in_strides) {
  walk elements(index.sizes());
  elements.add(walk::out, out, out_strides);
  elements.add(walk::in, in, in_strides);
  elements.add(walk::index, index, index.strides());
  return elements;
}

struct gather : at::meta::structured_gather {
  void impl(const at::Tensor& self, int64_t dim, const at::Tensor& index, bool /*sparse_grad*/,
            const at::Tensor& out) {
    if (index.numel() == 0) return;
    const at::Tensor from = at_least_1d(self), places = at_least_1d(index), to = at_least_1d(out);
    const int64_t along_dim = at::maybe_wrap_dim(dim, from.dim());
    launch_take(over(places, to, to.strides(), from, without(from.strides(), along_dim)),
                self.element_size(), self.device().index(),
                along(from, along_dim, places, gather_fault));
  }
};

// The places of one line of `index` may be equal: then the last one stays, as on the CPU, if
// PyTorch is to be deterministic.
void order_if_wanted(indexed& rules, walk& elements, int64_t dim, const at::Tensor& index) {
  if (!at::globalContext().deterministicAlgorithms()) return;
  elements.put_first({dim});
  order(rules, elements, index.size(dim), index.stride(dim) * index.element_size());
}

void scatter(const at::Tensor& self, int64_t dim, const at::Tensor& index, const at::Tensor* src,
             const at::Scalar& value, const at::Tensor& out) {
  if (!out.is_same(self)) copy_values(out, self);
  if (index.numel() == 0) return;
  const at::Tensor to = at_least_1d(out), places = at_least_1d(index);
  const int64_t along_dim = at::maybe_wrap_dim(dim, to.dim());
  indexed rules = along(to, along_dim, places, scatter_fault);
  walk elements(places.sizes());
  elements.add(walk::out, to, without(to.strides(), along_dim));
  elements.add(walk::index, places, places.strides());
  if (src != nullptr) {
    const at::Tensor from = at_least_1d(*src);
    elements.add(walk::in, from, from.strides());
    order_if_wanted(rules, elements, along_dim, places);
  } else {
    set_value(rules, value, out.scalar_type());
  }
  launch_put(elements, out.element_size(), out.device().index(), rules);
}

struct scatter_tensor : at::meta::structured_scatter_src {
  void impl(const at::Tensor& self, int64_t dim, const at::Tensor& index, const at::Tensor& src,
            const at::Tensor& out) {
    scatter(self, dim, index, &src, 0, out);
  }
};

struct scatter_number : at::meta::structured_scatter_value {
  void impl(const at::Tensor& self, int64_t dim, const at::Tensor& index, const at::Scalar& value,
            const at::Tensor& out) {
    scatter(self, dim, index, nullptr, value, out);
  }
};

struct index_copy : at::meta::structured_index_copy {
  template <class WorkedOut>
  void impl(const WorkedOut& worked_out, const at::Tensor& self, int64_t /*dim*/,
            const at::Tensor& index, const at::Tensor& source, const at::Tensor& out) {
    if (!out.is_same(self)) copy_values(out, self);
    if (index.numel() == 0) return;
    const at::Tensor to = at_least_1d(out), from = at_least_1d(source), places = at_least_1d(index);
    const int64_t dim = worked_out.dim;
    indexed rules = along(to, dim, places, index_copy_fault);
    walk elements = along_rows(from.sizes(), dim, places);
    elements.add(walk::out, to, without(to.strides(), dim));
    elements.add(walk::in, from, from.strides());
    order_if_wanted(rules, elements, dim, places);
    launch_put(elements, out.element_size(), out.device().index(), rules);
  }
};

// The CPU's checks of index_select. False for what it refuses, and for memory that overlaps.
bool can_select(const at::Tensor& self, int64_t dim, const at::Tensor& index) {
  const int64_t dims = self.dim() == 0 ? 1 : self.dim();
  return ops::is_ours(self) && is_index_of(index, self) && dim >= -dims && dim < dims &&
         (self.dim() > 0 || index.numel() == 1);
}

c10::DimVector selected_sizes(const at::Tensor& self, int64_t dim, const at::Tensor& index) {
  c10::DimVector sizes(self.sizes());
  if (self.dim() > 0) sizes[at::maybe_wrap_dim(dim, self.dim())] = index.numel();
  return sizes;
}

void select_into(const at::Tensor& out, const at::Tensor& self, int64_t dim,
                 const at::Tensor& index) {
  const at::Tensor from = at_least_1d(self), to = at_least_1d(out), places = at_least_1d(index);
  const int64_t along_dim = at::maybe_wrap_dim(dim, from.dim());
  walk elements = along_rows(to.sizes(), along_dim, places);
  elements.add(walk::out, to, to.strides());
  elements.add(walk::in, from, without(from.strides(), along_dim));
  launch_take(elements, self.element_size(), self.device().index(),
              along(from, along_dim, places, index_select_fault));
}

at::Tensor index_select(const at::Tensor& self, int64_t dim, const at::Tensor& index) {
  if (!can_select(self, dim, index)) return next<at::_ops::index_select>::call(self, dim, index);
  at::Tensor out = at::empty(selected_sizes(self, dim, index), self.options());
  select_into(out, self, dim, index);
  return out;
}

at::Tensor& index_select_out(const at::Tensor& self, int64_t dim, const at::Tensor& index,
                             at::Tensor& out) {
  if (!can_select(self, dim, index) || !ops::is_ours(out) ||
      out.scalar_type() != self.scalar_type()) {
    return next<at::_ops::index_select_out>::call(self, dim, index, out);
  }
  at::assert_no_internal_overlap(out);
  at::assert_no_overlap(out, self);
  at::assert_no_overlap(out, index);
  at::native::resize_output(out, selected_sizes(self, dim, index));
  select_into(out, self, dim, index);
  return out;
}

// Returns false for what the CPU refuses or warns of.
bool fill_at(const at::Tensor& self, int64_t dim, const at::Tensor& index, const at::Scalar* value,
             const at::Tensor* tensor) {
  const int64_t dims = self.dim() == 0 ? 1 : self.dim();
  if (!ops::is_ours(self) || !is_index_of(index, self) || index.scalar_type() != c10::kLong ||
      dim < -dims || dim >= dims || at::has_internal_overlap(self) == at::MemOverlap::Yes) {
    return false;
  }
  at::assert_no_overlap(self, index);
  const at::Tensor to = at_least_1d(self), places = at_least_1d(index);
  const int64_t along_dim = at::maybe_wrap_dim(dim, to.dim());
  indexed rules = along(to, along_dim, places, index_fill_fault);
  rules.wraps = 1;
  c10::DimVector sizes(to.sizes());
  sizes[along_dim] = places.numel();
  walk elements = along_rows(sizes, along_dim, places);
  elements.add(walk::out, to, without(to.strides(), along_dim));
  if (value != nullptr) {
    set_value(rules, *value, self.scalar_type());
  } else {
    if (tensor->dim() != 0 || tensor->scalar_type() != self.scalar_type()) return false;
    elements.add(walk::in, *tensor, c10::DimVector(sizes.size(), 0));
  }
  launch_put(elements, self.element_size(), self.device().index(), rules);
  return true;
}

at::Tensor& index_fill_number(at::Tensor& self, int64_t dim, const at::Tensor& index,
                              const at::Scalar& value) {
  if (fill_at(self, dim, index, &value, nullptr)) return self;
  return next<at::_ops::index_fill__int_Scalar>::call(self, dim, index, value);
}

at::Tensor& index_fill_tensor(at::Tensor& self, int64_t dim, const at::Tensor& index,
                              const at::Tensor& value) {
  if (ops::is_ours(value)) {
    if (fill_at(self, dim, index, nullptr, &value)) return self;
  } else if (value.dim() == 0) {
    const at::Scalar number = value.item();
    if (fill_at(self, dim, index, &number, nullptr)) return self;
  }
  return next<at::_ops::index_fill__int_Tensor>::call(self, dim, index, value);
}

// Whether `index` may have places in all of `self`. False for what the CPU refuses.
bool is_index_of_all(const at::Tensor& index, const at::Tensor& self) {
  return ops::is_ours(self) && index.device() == self.device() &&
         index.scalar_type() == c10::kLong && (self.numel() != 0 || index.numel() == 0);
}

indexed along_line(const at::Tensor& line, const at::Tensor& index, core::kernel_fault& fault) {
  indexed rules = along(line, 0, index, fault);
  rules.wraps = 1;
  return rules;
}

at::Tensor& take_out(const at::Tensor& self, const at::Tensor& index, at::Tensor& out) {
  if (!is_index_of_all(index, self) || out.device() != self.device() ||
      out.scalar_type() != self.scalar_type()) {
    throw no_kernel();
  }
  at::assert_no_internal_overlap(out);
  at::assert_no_overlap(out, self);
  at::assert_no_overlap(out, index);
  at::native::resize_output(out, index.sizes());
  const at::Tensor line = contiguous(self).view({-1});
  const at::Tensor places = at_least_1d(index), to = at_least_1d(out);
  const c10::DimVector nowhere(static_cast<size_t>(places.dim()), 0);
  launch_take(over(places, to, to.strides(), line, nowhere), self.element_size(),
              self.device().index(), along_line(line, places, take_fault));
  return out;
}

at::Tensor take(const at::Tensor& self, const at::Tensor& index) {
  at::Tensor out = at::empty(index.sizes(), self.options());
  return take_out(self, index, out);
}

at::Tensor& put_(at::Tensor& self, const at::Tensor& index, const at::Tensor& source,
                 bool accumulate) {
  if (!is_index_of_all(index, self) || source.device() != self.device() ||
      source.scalar_type() != self.scalar_type() || source.numel() != index.numel()) {
    throw no_kernel();
  }
  at::assert_no_internal_overlap(self);
  at::assert_no_overlap(self, index);
  at::assert_no_overlap(self, source);
  if (index.numel() == 0) return self;
  const at::Tensor line = contiguous(self).view({-1}), from = contiguous(source).view({-1});
  const at::Tensor places = contiguous(index).view({-1});
  const c10::DimVector nowhere{0};
  if (accumulate) {
    sum_into(line, [&](const at::Tensor& sums, number_type type) {
      indexed rules = along_line(sums, places, put_fault);
      walk elements = over(places, sums, nowhere, from, from.strides());
      if (is_ordered(type)) order(rules, elements, places.numel(), sizeof(int64_t));
      launch_add_at(elements, type, self.device().index(), rules, {1, 1});
    });
  } else {
    indexed rules = along_line(line, places, put_fault);
    walk elements = over(places, line, nowhere, from, from.strides());
    order_if_wanted(rules, elements, 0, places);
    launch_put(elements, self.element_size(), self.device().index(), rules);
  }
  if (!self.is_contiguous()) copy_values(self, line.view(self.sizes()));
  return self;
}

}  // namespace

void add_index_moves(ops::registrar& to) {
  namespace ops = at::_ops;
  add<ops::index_select, &index_select>(to);
  add<ops::index_select_out, &index_select_out>(to);
  add<ops::index_fill__int_Scalar, &index_fill_number>(to);
  add<ops::index_fill__int_Tensor, &index_fill_tensor>(to);
  add<ops::take, &take>(to);
  add<ops::take_out, &take_out>(to);
  add<ops::put_, &put_>(to);
  add_structured<gather, ops::gather, ops::gather_out>(to);
  add_structured<scatter_tensor, ops::scatter_src, ops::scatter__src, ops::scatter_src_out>(to);
  add_structured<scatter_number, ops::scatter_value, ops::scatter__value, ops::scatter_value_out>(
      to);
  add_structured<index_copy, ops::index_copy, ops::index_copy_, ops::index_copy_out>(to);
}

}  // namespace outback::portable
