// softmax and log_softmax, and their derivatives.
#include <c10/core/WrapDimMinimal.h>

#include "backend_template/core/streams/stream.h"
#include "backend_template/portable/engine/dense.h"
#include "backend_template/portable/engine/kernel_family.h"
#include "backend_template/portable/engine/operators.h"
#include "backend_template/portable/engine/operators/structured.h"

namespace outback::portable {
namespace {

constinit kernel_family softmax_kernels("softmax", "softmax");
constinit kernel_family backward_kernels("softmax", "softmax_backward");

// The rows of a contiguous tensor along one of its dimensions, as softmax.k has them.
struct rows {
  int64_t count = 1;
  int64_t n = 1;
  int64_t inner = 1;

  rows(const at::Tensor& tensor, int64_t dim) {
    if (tensor.dim() == 0) return;
    const int64_t along = c10::maybe_wrap_dim(dim, tensor.dim());
    n = tensor.size(along);
    for (int64_t d = along + 1; d < tensor.dim(); ++d) inner *= tensor.size(d);
    count = tensor.numel() / n;
  }
};

// One row for each group.
constexpr int64_t most_groups = 1 << 16;
int64_t groups_for_rows(const rows& of) {
  return std::min(of.count, most_groups);
}

template <class Meta, bool is_log>
struct softmax : Meta {
  void impl(const at::Tensor& self, int64_t dim, bool /*half_to_float*/, const at::Tensor& out) {
    const number_type type = type_of_floats(out.scalar_type());
    if (out.numel() == 0) return;
    const kernels::packed_kernel& kernel = softmax_kernels.of(out.device().index(), type);
    const rows of(self, dim);
    const at::Tensor in = dense(self.to(out.scalar_type()));  // another one with half_to_float only
    const dense_output made(out);
    launch(core::current_stream(out.device().index()), kernel, groups_for_rows(of), of.count, of.n,
           of.inner, int32_t{is_log}, pointer_to(made.written()), pointer_to(in));
    made.finish();
  }
};

template <class Meta, bool is_log>
struct softmax_backward : Meta {
  void impl(const at::Tensor& grad, const at::Tensor& result, int64_t dim,
            c10::ScalarType /*input_dtype*/, const at::Tensor& grad_input) {
    const c10::ScalarType dtype = result.scalar_type();
    if (grad.scalar_type() != dtype) throw no_kernel();
    const number_type type = type_of_floats(dtype);
    if (grad_input.numel() == 0) return;
    const kernels::packed_kernel& kernel = backward_kernels.of(grad.device().index(), type);
    const rows of(grad, dim);
    const at::Tensor of_result = dense(grad), y = dense(result);
    const dense_output made(grad_input, dtype);
    launch(core::current_stream(grad.device().index()), kernel, groups_for_rows(of), of.count, of.n,
           of.inner, int32_t{is_log}, pointer_to(made.written()), pointer_to(of_result),
           pointer_to(y));
    made.finish();
  }
};

}  // namespace

void add_softmax(ops::registrar& to) {
  using namespace at::meta;
  namespace ops = at::_ops;
  add_structured<softmax<structured__softmax, false>, ops::_softmax, ops::_softmax_out>(to);
  add_structured<softmax<structured__log_softmax, true>, ops::_log_softmax, ops::_log_softmax_out>(
      to);
  add_structured<softmax_backward<structured__softmax_backward_data, false>,
                 ops::_softmax_backward_data, ops::_softmax_backward_data_out>(to);
  add_structured<softmax_backward<structured__log_softmax_backward_data, true>,
                 ops::_log_softmax_backward_data, ops::_log_softmax_backward_data_out>(to);
}

}  // namespace outback::portable
