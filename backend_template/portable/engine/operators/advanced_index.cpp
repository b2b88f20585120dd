// x[i, j, ..] and x[i, j, ..] = y, with tensors of integers as indices. Masks go to the next
// provider, since the host has to know how many elements they have.
#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>

#include <limits>
#include <optional>
#include <vector>

#include "backend_template/ops/tensors/tensor_fields.h"
#include "backend_template/portable/engine/index_kernels.h"
#include "backend_template/portable/engine/index_sums.h"
#include "backend_template/portable/engine/operators.h"
#include "backend_template/portable/engine/operators/structured.h"

namespace outback::portable {
namespace {

using index_list = c10::List<std::optional<at::Tensor>>;

constinit core::kernel_fault index_fault("aten::index: an index is out of range");
constinit core::kernel_fault index_put_fault("aten::index_put: an index is out of range");

// The indices of a call, with the shape of what they select from `self`: the shape of all indices
// together stands in the place of the first one, or in front if the indices are not neighbours.
class selection {
 public:
  // Returns nothing for indices that portable kernels do not serve, and wrong ones.
  static std::optional<selection> of(const at::Tensor& self, const index_list& indices);

  c10::IntArrayRef sizes() const { return sizes_; }
  // The dimensions of the result that the indices go along, and how many elements they have.
  const c10::DimVector& index_dims() const { return index_dims_; }
  int64_t index_count() const { return c10::multiply_integers(index_sizes_); }

  // The walk over the result, with what the indices do to `tensor`, which has the sizes of self and
  // stands as `operand`. `must_be_dense`: the index has to be contiguous.
  struct prepared {
    walk elements;
    indexed rules;
    at::Tensor keeps;  // memory that the launch needs
  };
  prepared prepare(const at::Tensor& tensor, size_t operand, core::kernel_fault& fault,
                   bool must_be_dense) const;

  // The strides with which a tensor is broadcast to the result.
  c10::DimVector broadcast(const at::Tensor& tensor) const {
    return broadcast_to(tensor, sizes_, 0);
  }

 private:
  struct one {
    int64_t dim;
    at::Tensor index;
  };

  static c10::DimVector broadcast_to(const at::Tensor& tensor, c10::IntArrayRef sizes,
                                     int64_t dims_after);

  std::vector<one> indices_;
  c10::DimVector index_sizes_;  // of all indices together
  c10::DimVector index_dims_;
  c10::DimVector sizes_;
  c10::DimVector self_dims_;  // for each dimension of the result the one of self, or -1
};

c10::DimVector selection::broadcast_to(const at::Tensor& tensor, c10::IntArrayRef sizes,
                                       int64_t dims_after) {
  c10::DimVector strides(sizes.size(), 0);
  const int64_t shift = static_cast<int64_t>(sizes.size()) - dims_after - tensor.dim();
  for (int64_t d = std::max<int64_t>(0, -shift); d < tensor.dim(); ++d) {
    if (tensor.size(d) != 1) strides[static_cast<size_t>(shift + d)] = tensor.stride(d);
  }
  return strides;
}

std::optional<selection> selection::of(const at::Tensor& self, const index_list& indices) {
  selection made;
  if (!ops::is_ours(self) || static_cast<int64_t>(indices.size()) > self.dim()) return {};
  for (size_t d = 0; d < indices.size(); ++d) {
    const std::optional<at::Tensor>& given = indices[d];
    if (!given || !given->defined()) continue;
    const bool is_integer = given->scalar_type() == c10::kLong || given->scalar_type() == c10::kInt;
    if (!is_integer || given->dim() > places::most_dims ||
        !(given->is_cpu() || given->device() == self.device())) {
      return {};
    }
    // In stream order; the host's memory has been read when the call returns.
    made.indices_.push_back(
        {static_cast<int64_t>(d),
         given->is_cpu() ? given->to(self.device(), /*non_blocking=*/true) : *given});
  }
  if (made.indices_.empty()) return {};
  for (const one& each : made.indices_) {
    c10::DimVector& all = made.index_sizes_;
    if (all.size() < static_cast<size_t>(each.index.dim())) {
      all.insert(all.begin(), static_cast<size_t>(each.index.dim()) - all.size(), 1);
    }
    for (int64_t d = 1; d <= each.index.dim(); ++d) {
      int64_t& size = all[all.size() - static_cast<size_t>(d)];
      const int64_t its = each.index.size(-d);
      if (size != its && size != 1 && its != 1) return {};
      if (size == 1) size = its;
    }
  }
  const int64_t first = made.indices_.front().dim, last = made.indices_.back().dim;
  const bool are_neighbours = last - first + 1 == static_cast<int64_t>(made.indices_.size());
  const auto add_index_dims = [&] {
    for (const int64_t size : made.index_sizes_) {
      made.index_dims_.push_back(static_cast<int64_t>(made.sizes_.size()));
      made.sizes_.push_back(size);
      made.self_dims_.push_back(-1);
    }
  };
  if (!are_neighbours) add_index_dims();
  size_t seen = 0;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (seen < made.indices_.size() && made.indices_[seen].dim == d) {
      if (seen++ == 0 && are_neighbours) add_index_dims();
      if (self.size(d) == 0 && made.index_count() != 0) return {};
    } else {
      made.sizes_.push_back(self.size(d));
      made.self_dims_.push_back(d);
    }
  }
  return made;
}

selection::prepared selection::prepare(const at::Tensor& tensor, size_t operand,
                                       core::kernel_fault& fault, bool must_be_dense) const {
  const c10::DeviceIndex device = tensor.device().index();
  prepared made{walk(sizes_), {}, {}};
  c10::DimVector strides;
  for (const int64_t d : self_dims_) strides.push_back(d < 0 ? 0 : tensor.stride(d));
  made.elements.add(operand, tensor, strides);
  const int64_t dims_after =
      static_cast<int64_t>(sizes_.size()) - (index_dims_.empty() ? 0 : index_dims_.back() + 1);
  if (indices_.size() == 1 && !must_be_dense) {
    const one& only_one = indices_.front();
    made.rules = along(tensor, only_one.dim, only_one.index, fault);
    made.rules.wraps = 1;
    made.elements.add(walk::index, only_one.index,
                      broadcast_to(only_one.index, sizes_, dims_after));
    return made;
  }
  made.keeps = at::empty(index_sizes_, tensor.options().dtype(c10::kLong));
  for (size_t i = 0; i < indices_.size(); ++i) {
    walk each(index_sizes_);
    each.add(walk::out, made.keeps, made.keeps.strides());
    each.add(walk::index, indices_[i].index, broadcast_to(indices_[i].index, index_sizes_, 0));
    indexed rules = along(tensor, indices_[i].dim, indices_[i].index, fault);
    rules.wraps = 1;
    launch_linear_index(each, device, rules, i == 0);
  }
  made.rules.size = std::numeric_limits<int64_t>::max();
  made.rules.stride = 1;
  made.rules.fault = fault.number();
  made.elements.add(walk::index, made.keeps, broadcast_to(made.keeps, sizes_, dims_after));
  return made;
}

// PyTorch's class checks the arguments and makes the output.
struct index_class : at::meta::structured_index_Tensor {
  template <class WorkedOut>
  void impl(const WorkedOut& /*worked_out*/, const at::Tensor& self, const index_list& indices,
            const at::Tensor& out) {
    const std::optional<selection> selected = selection::of(self, indices);
    if (!selected || out.sizes() != selected->sizes()) throw no_kernel();
    if (out.numel() == 0) return;
    auto [elements, rules, keeps] = selected->prepare(self, walk::in, index_fault, false);
    elements.add(walk::out, out, out.strides());
    launch_take(elements, self.element_size(), self.device().index(), rules);
  }
};

// Before PyTorch's class makes integers of a mask.
bool is_served(const at::Tensor& self, const index_list& indices) {
  bool has_index = false;
  for (const std::optional<at::Tensor>& index : indices) {
    if (!index || !index->defined()) continue;
    has_index = true;
    const bool is_integer = index->scalar_type() == c10::kLong || index->scalar_type() == c10::kInt;
    if (!is_integer || !(index->is_cpu() || index->device() == self.device())) return false;
  }
  return has_index && ops::is_ours(self);
}

at::Tensor index(const at::Tensor& self, const index_list& indices) {
  using operation = at::_ops::index_Tensor;
  if (!is_served(self, indices)) return next<operation>::call(self, indices);
  return kernels::structured_kernel<index_class, operation>::run(self, indices);
}

at::Tensor& index_out(const at::Tensor& self, const index_list& indices, at::Tensor& out) {
  using operation = at::_ops::index_Tensor_out;
  if (!is_served(self, indices)) return next<operation>::call(self, indices, out);
  return kernels::structured_kernel<index_class, operation>::run(self, indices, out);
}

// Returns false for what the CPU refuses or warns of, and for masks.
bool put(const at::Tensor& self, const index_list& indices, const at::Tensor& values,
         bool accumulate) {
  if (!is_served(self, indices) || values.scalar_type() != self.scalar_type() ||
      at::has_internal_overlap(self) == at::MemOverlap::Yes) {
    return false;
  }
  at::assert_no_overlap(self, values);
  for (const std::optional<at::Tensor>& index : indices) {
    if (index && index->defined()) at::assert_no_overlap(self, *index);
  }
  const std::optional<selection> selected = selection::of(self, indices);
  if (!selected || !at::is_expandable_to(values.sizes(), selected->sizes())) return false;
  const at::Tensor source =
      values.is_cpu() ? values.to(self.device(), /*non_blocking=*/true) : values;
  const c10::DeviceIndex device = self.device().index();
  const auto put_in_order = [&](selection::prepared& call) {
    call.elements.put_first(selected->index_dims());
    order(call.rules, call.elements, selected->index_count(), sizeof(int64_t));
  };
  if (!accumulate) {
    const bool ordered = at::globalContext().deterministicAlgorithms();
    auto call = selected->prepare(self, walk::out, index_put_fault, ordered);
    call.elements.add(walk::in, source, selected->broadcast(source));
    if (ordered) put_in_order(call);
    launch_put(call.elements, self.element_size(), device, call.rules);
    return true;
  }
  sum_into(self, [&](const at::Tensor& sums, number_type type) {
    auto call = selected->prepare(sums, walk::out, index_put_fault, is_ordered(type));
    call.elements.add(walk::in, source, selected->broadcast(source));
    if (is_ordered(type)) put_in_order(call);
    launch_add_at(call.elements, type, device, call.rules, {1, 1});
  });
  return true;
}

at::Tensor& index_put(at::Tensor& self, const index_list& indices, const at::Tensor& values,
                      bool accumulate, bool unsafe) {
  if (put(self, indices, values, accumulate)) return self;
  return next<at::_ops::_index_put_impl_>::call(self, indices, values, accumulate, unsafe);
}

}  // namespace

void add_advanced_index(ops::registrar& to) {
  namespace ops = at::_ops;
  add<ops::index_Tensor, &index>(to);
  add<ops::index_Tensor_out, &index_out>(to);
  add<ops::_index_put_impl_, &index_put>(to);
}

}  // namespace outback::portable
