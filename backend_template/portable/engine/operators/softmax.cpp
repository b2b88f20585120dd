// softmax and log_softmax, and their derivatives.
#include <c10/core/WrapDimMinimal.h>

#include "backend_template/core/streams/stream.h"
#include "backend_template/portable/engine/dense.h"
#include "backend_template/portable/engine/kernel_family.h"
#include "backend_template/portable/engine/operators.h"
#include "backend_template/portable/engine/operators/structured.h"

namespace outback::portable {
namespace {

// A row for each group, and a row for each item.
constinit kernel_family softmax_kernels("softmax", "softmax");
constinit kernel_family softmax_each_kernels("softmax", "softmax_each");
constinit kernel_family backward_kernels("softmax", "softmax_backward");
constinit kernel_family backward_each_kernels("softmax", "softmax_backward_each");

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

bool goes_by_items(const rows& of) {
  constexpr int64_t is_short = 32, are_many = 4096;
  return of.n <= is_short || (of.inner >= is_short && of.count >= are_many);
}

template <class... Pointers>
void launch_rows(const rows& of, kernel_family& by_groups, kernel_family& by_items,
                 number_type type, bool is_log, c10::DeviceIndex device,
                 const Pointers&... pointers) {
  constexpr int64_t most_groups = 1 << 16;
  const bool each = goes_by_items(of);
  const kernels::packed_kernel& kernel = (each ? by_items : by_groups).of(device, type);
  const int64_t groups = each ? groups_for(of.count, kernel) : std::min(of.count, most_groups);
  launch(core::current_stream(device), kernel, groups, of.count, of.n, of.inner, int32_t{is_log},
         pointers...);
}

template <class Meta, bool is_log>
struct softmax : Meta {
  void impl(const at::Tensor& self, int64_t dim, bool /*half_to_float*/, const at::Tensor& out) {
    const number_type type = type_of_floats(out.scalar_type());
    if (out.numel() == 0) return;
    const rows of(self, dim);
    const at::Tensor in = dense(self.to(out.scalar_type()));  // another one with half_to_float only
    const dense_output made(out);
    launch_rows(of, softmax_kernels, softmax_each_kernels, type, is_log, out.device().index(),
                pointer_to(made.written()), pointer_to(in));
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
    const rows of(grad, dim);
    const at::Tensor of_result = dense(grad), y = dense(result);
    const dense_output made(grad_input, dtype);
    launch_rows(of, backward_kernels, backward_each_kernels, type, is_log, grad.device().index(),
                pointer_to(made.written()), pointer_to(of_result), pointer_to(y));
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
