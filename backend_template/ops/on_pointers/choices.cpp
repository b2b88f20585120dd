// Elements that a condition, an index or a comparison chooses. Most of torch's functions for them
// on the CPU are not structured, but hand pointers to a loop or a TensorIterator to a dispatch
// stub, so that they run in place as they are.
#include <ATen/core/Tensor.h>
#include <ATen/native/IndexKernel.h>
#include <ATen/native/TensorAdvancedIndexing.h>
#include <ATen/native/TensorCompare.h>

#include "backend_template/core/streams/sync_debug.h"
#include "backend_template/ops/in_place/lent_call.h"
#include "backend_template/ops/on_pointers/structured.h"
#include "backend_template/ops/on_pointers/stubs.h"
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

}  // namespace

void register_choices(registrar& to) {
  using namespace at::native;
  namespace ops = at::_ops;
  constexpr native_rules contiguous{.contiguous = true};
  constexpr native_rules with_indices{.indices = true};
  constexpr native_rules of_any_dtype{.indices = true, .any_dtype = true};

  fill_stubs<where_kernel, masked_fill_stub, take_stub, gather_stub, index_fill_stub>();
  to.add<&outback::ops::equal>("equal");
  to.add<&outback::ops::where>("where", "self");
  add_native<ops::masked_fill__Scalar, &masked_fill__cpu, with_indices>(to);
  add_native<ops::bucketize_Tensor, &bucketize_cpu, contiguous>(to);
  add_native<ops::searchsorted_Tensor, &searchsorted_cpu, contiguous>(to);
  add_native<ops::take, &take, of_any_dtype>(to);
  add_native<ops::index_fill__int_Scalar, &index_fill_, of_any_dtype>(to);
  add_structured<ops::gather, structured_gather_out, with_indices>(to);
  // Embedding calls it. It makes a non-contiguous index contiguous.
  add_native<ops::index_select, &index_select_cpu_,
             native_rules{.contiguous = true, .indices = true}>(to);
}

}  // namespace outback::ops
