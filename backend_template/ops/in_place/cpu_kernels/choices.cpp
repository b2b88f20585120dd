// Elements that a condition, an index or a comparison chooses. Most of torch's functions for them
// on the CPU are not structured, but hand pointers to a loop or a TensorIterator to a dispatch
// stub, so that they run in place as they are.
#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/IndexKernel.h>
#include <ATen/native/TensorAdvancedIndexing.h>
#include <ATen/native/TensorCompare.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "backend_template/core/streams/sync_debug.h"
#include "backend_template/ops/in_place/cpu_kernels/cpu_structured.h"
#include "backend_template/ops/in_place/cpu_kernels/lent_call.h"
#include "backend_template/ops/in_place/cpu_kernels/stubs.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {
namespace {

bool is_watched() {
  return core::get_sync_debug_mode() != core::sync_debug_mode::off;
}

bool equal(const at::Tensor& self, const at::Tensor& other) {
  const bool runs_on_pointers = is_ours(self) && is_like(self, self) && is_like(self, other) &&
                                !is_watched() && waited_for(self);
  return runs_on_pointers ? at::native::cpu_equal(self, other)
                          : lent_call<at::_ops::equal>::run(self, other);
}

at::Tensor where(const at::Tensor& condition, const at::Tensor& self, const at::Tensor& other) {
  const bool runs_on_pointers = is_ours(self) && is_like(self, self) && is_like(self, other) &&
                                is_index_of(self, condition) && ready(self);
  return runs_on_pointers ? at::native::where(condition, self, other)
                          : unboxed_kernel<at::_ops::where_self>::run(condition, self, other);
}

using index_list = c10::List<std::optional<at::Tensor>>;

// By integers only: a mask becomes indices first, which is an operator. The alias's way tells the
// user of a wait, since a mask's result has a size that only its elements tell.
bool takes_pointers(const at::Tensor& self, const index_list& indices) {
  const at::IOptTensorListRef given(indices);
  const bool are_indices =
      std::all_of(given.begin(), given.end(), [&](const at::OptionalTensorRef& each) {
        return !each.has_value() || (each->scalar_type() == c10::kLong && is_index_of(self, *each));
      });
  return are_indices && !is_watched() && is_ours(self) && is_like(self, self) && ready(self);
}

// torch has another way for what adds, or has to be deterministic, on devices other than the CPU.
at::Tensor& index_put(at::Tensor& self, const index_list& indices, const at::Tensor& values,
                      bool accumulate, bool unsafe) {
  return !accumulate && !at::globalContext().deterministicAlgorithms() && is_like(self, values) &&
                 takes_pointers(self, indices)
             ? at::native::_index_put_impl_(self, indices, values, accumulate, unsafe)
             : unboxed_kernel<at::_ops::_index_put_impl_>::run(self, indices, values, accumulate,
                                                               unsafe);
}

at::Tensor index(const at::Tensor& self, const index_list& indices) {
  if (!takes_pointers(self, indices)) return lent_call<at::_ops::index_Tensor>::run(self, indices);
  kernel_on_device<at::native::structured_index_out> kernel;
  auto known = kernel.meta(self, at::IOptTensorListRef(indices));
  kernel.impl(self, known.sizes, known.strides, kernel.outputs.tensors[0]);
  return std::move(kernel.outputs.tensors[0]);
}

}  // namespace

void register_choices(registrar& to) {
  using namespace at::native;
  namespace ops = at::_ops;
  constexpr native_rules contiguous{.contiguous = true};
  constexpr native_rules with_indices{.indices = true};
  constexpr native_rules of_any_dtype{.indices = true, .any_dtype = true};
  constexpr native_rules all{.contiguous = true, .indices = true, .any_dtype = true};

  fill_stubs<where_kernel, masked_fill_stub, take_stub, index_copy_stub, scatter_stub,
             scatter_fill_stub, scatter_add_stub, scatter_reduce_two_stub, gather_stub, index_stub,
             index_fill_stub, index_put_stub>();
  to.add<&outback::ops::equal>("equal");
  to.add<&outback::ops::where>("where", "self");
  add_native<ops::masked_fill__Scalar, &masked_fill__cpu, with_indices>(to);
  add_native<ops::bucketize_Tensor, &bucketize_cpu, contiguous>(to);
  add_native<ops::searchsorted_Tensor, &searchsorted_cpu, contiguous>(to);
  add_native<ops::take, &take, of_any_dtype>(to);
  add_native<ops::index_fill__int_Scalar, &index_fill_, of_any_dtype>(to);
  add_on_copy<ops::index_copy, structured_index_copy_out, of_any_dtype>(to);
  // Contiguous, since other indices may take a way of the CPU's that adds in another order.
  add_on_copy<ops::index_add, structured_index_add_cpu_out, all>(to);
  add_on_copy<ops::scatter_src, structured_scatter_src_out, all>(to);
  add_on_copy<ops::scatter_value, structured_scatter_value_out, all>(to);
  add_on_copy<ops::scatter_add, structured_scatter_add, all>(to);
  add_on_copy<ops::scatter_reduce_two, structured_scatter_reduce_two, all>(to);
  add_on_copy<ops::index_reduce, structured_index_reduce_cpu_out, all>(to);
  // They call these.
  add_on_copy<ops::scatter__value, structured_scatter_value_out, all>(to);
  add_on_copy<ops::scatter_add_, structured_scatter_add, all>(to);
  add_on_copy<ops::index_add_, structured_index_add_cpu_out, all>(to);
  add_structured<ops::gather, structured_gather_out, with_indices>(to);
  to.add<&outback::ops::index>("index", "Tensor");
  to.add<&outback::ops::index_put>("_index_put_impl_");
  // Embedding calls it. It makes a non-contiguous index contiguous.
  add_native<ops::index_select, &index_select_cpu_,
             native_rules{.contiguous = true, .indices = true}>(to);
}

}  // namespace outback::ops
