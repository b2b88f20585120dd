// Operators that add to places that an index has along one dimension.
#include "backend_template/portable/engine/index_sums.h"

#include <ATen/WrapDimUtils.h>
#include <ATen/ops/zeros.h>

#include "backend_template/ops/tensors/tensor_fields.h"
#include "backend_template/portable/engine/index_kernels.h"
#include "backend_template/portable/engine/operators.h"
#include "backend_template/portable/engine/operators/index_dims.h"
#include "backend_template/portable/engine/operators/structured.h"

namespace outback::portable {
namespace {

constinit core::kernel_fault scatter_add_fault("aten::scatter_add: an index is out of range");
constinit core::kernel_fault index_add_fault("aten::index_add: an index is out of range");
constinit core::kernel_fault embedding_fault(
    "aten::embedding_dense_backward: an index is out of range");

// The index goes along dimension `dim`.
void order_along(indexed& rules, walk& elements, int64_t dim, const at::Tensor& index,
                 int64_t index_dim) {
  elements.put_first({dim});
  order(rules, elements, index.size(index_dim), index.stride(index_dim) * index.element_size());
}

struct scatter_add : at::meta::structured_scatter_add {
  void impl(const at::Tensor& self, int64_t dim, const at::Tensor& index, const at::Tensor& src,
            const at::Tensor& out) {
    if (!out.is_same(self)) copy_values(out, self);
    if (index.numel() == 0) return;
    const at::Tensor from = at_least_1d(src), places = at_least_1d(index);
    sum_into(out, [&](const at::Tensor& sums, number_type type) {
      const at::Tensor to = at_least_1d(sums);
      const int64_t along_dim = at::maybe_wrap_dim(dim, to.dim());
      indexed rules = along(to, along_dim, places, scatter_add_fault);
      walk elements(places.sizes());
      elements.add(walk::out, to, without(to.strides(), along_dim));
      elements.add(walk::in, from, from.strides());
      elements.add(walk::index, places, places.strides());
      if (is_ordered(type)) order_along(rules, elements, along_dim, places, along_dim);
      launch_add_at(elements, type, to.device().index(), rules, {1, 1});
    });
  }
};

struct index_add : at::meta::structured_index_add {
  template <class WorkedOut>
  void impl(const WorkedOut& worked_out, const at::Tensor& self, int64_t /*dim*/,
            const at::Tensor& index, const at::Tensor& source, const at::Scalar& alpha,
            const at::Tensor& out) {
    if (!out.is_same(self)) copy_values(out, self);
    if (index.numel() == 0) return;
    const int64_t dim = worked_out.dim;
    const at::Tensor from = at_least_1d(source), places = at_least_1d(index);
    sum_into(out, [&](const at::Tensor& sums, number_type type) {
      const at::Tensor to = at_least_1d(sums);
      indexed rules = along(to, dim, places, index_add_fault);
      walk elements = along_rows(from.sizes(), dim, places);
      elements.add(walk::out, to, without(to.strides(), dim));
      elements.add(walk::in, from, from.strides());
      if (is_ordered(type)) order_along(rules, elements, dim, places, 0);
      launch_add_at(elements, type, to.device().index(), rules, number_of(alpha));
    });
  }
};

at::Tensor embedding_dense_backward(const at::Tensor& grad, const at::Tensor& indices,
                                    c10::SymInt num_weights, c10::SymInt padding_idx,
                                    bool scale_grad_by_freq) {
  const bool is_served =
      !scale_grad_by_freq && ops::is_ours(grad) && indices.device() == grad.device() &&
      (indices.scalar_type() == c10::kLong || indices.scalar_type() == c10::kInt) &&
      grad.dim() == indices.dim() + 1 && c10::isFloatingType(grad.scalar_type());
  if (!is_served) {
    return next<at::_ops::embedding_dense_backward>::call(grad, indices, num_weights, padding_idx,
                                                          scale_grad_by_freq);
  }
  const int64_t rows = num_weights.guard_int(__FILE__, __LINE__);
  const int64_t width = grad.size(-1);
  const c10::ScalarType dtype = dtype_of_sum(grad.scalar_type());
  at::Tensor sums = at::zeros({rows, width}, grad.options().dtype(dtype));
  // For an order all places have to be in one line.
  const number_type type = type_computed_in(dtype);
  const at::Tensor places = is_ordered(type) ? contiguous(indices) : indices;
  indexed rules = along(sums, 0, places, embedding_fault);
  rules.skip = padding_idx.guard_int(__FILE__, __LINE__);
  walk elements(grad.sizes());
  elements.add(walk::out, sums, only(grad.dim(), grad.dim() - 1, 1));
  elements.add(walk::in, grad, grad.strides());
  c10::DimVector index_strides(places.strides());
  index_strides.push_back(0);
  elements.add(walk::index, places, index_strides);
  if (is_ordered(type)) order(rules, elements, places.numel(), places.element_size());
  launch_add_at(elements, type, grad.device().index(), rules, {1, 1});
  if (dtype == grad.scalar_type()) return sums;
  at::Tensor result = at::empty(sums.sizes(), grad.options());
  copy_values(result, sums);
  return result;
}

}  // namespace

void add_index_sums(ops::registrar& to) {
  namespace ops = at::_ops;
  add<ops::embedding_dense_backward, &embedding_dense_backward>(to);
  add_structured<scatter_add, ops::scatter_add, ops::scatter_add_, ops::scatter_add_out>(to);
  add_structured<index_add, ops::index_add, ops::index_add_, ops::index_add_out>(to);
}

}  // namespace outback::portable
