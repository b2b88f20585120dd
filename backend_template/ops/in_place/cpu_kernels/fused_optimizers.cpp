// The fused steps of optimizers: torch's kernels for the CPU go through lists of tensors by their
// pointers, so they run in place. A model has hundreds of parameters, with four or five tensors
// each, and lending them all would cost as much as the step.
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <utility>

#include "backend_template/core/streams/sync_debug.h"
#include "backend_template/ops/in_place/cpu_kernels/cpu_structured.h"
#include "backend_template/ops/in_place/cpu_kernels/lent_call.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {
namespace {

// Whether the kernel may take an argument as it is. The dtypes may differ: the kernels check them,
// and the numbers of steps are float32 whatever the parameters are.
bool is_bare(c10::Device device, const at::Tensor& tensor) {
  return tensor.defined() && tensor.device() == device && is_plain(*tensor.unsafeGetTensorImpl()) &&
         tensor.is_contiguous() && !tensor.is_conj() && !tensor.is_neg() &&
         !tensor._is_zerotensor() && !has_names(tensor);
}

bool is_bare(c10::Device device, at::TensorList list) {
  return std::all_of(list.begin(), list.end(),
                     [&](const at::Tensor& tensor) { return is_bare(device, tensor); });
}

bool is_bare(c10::Device device, const std::optional<at::Tensor>& tensor) {
  return !tensor || is_bare(device, *tensor);
}

template <class Other>
bool is_bare(c10::Device /*device*/, const Other& /*not a tensor*/) {
  return true;
}

template <class Operator, typename Operator::schema* kernel,
          class Signature = typename Operator::schema>
struct list_call;

template <class Operator, typename Operator::schema* kernel, class... Others>
struct list_call<Operator, kernel, void(at::TensorList, Others...)> {
  static void run(at::TensorList self, Others... others) {
    // The kernels read the numbers of steps with item(), which is no wait of the user's.
    const bool is_watched = core::get_sync_debug_mode() != core::sync_debug_mode::off;
    const bool runs_on_pointers = !self.empty() && !is_watched && is_ours(self[0]) &&
                                  is_bare(self[0].device(), self) &&
                                  (is_bare(self[0].device(), others) && ...) && ready(self[0]);
    if (runs_on_pointers) return kernel(self, others...);
    lent_call<Operator>::run(self, std::forward<Others>(others)...);
  }
};

}  // namespace

void register_fused_optimizers(registrar& to) {
  using namespace at::native;
  namespace ops = at::_ops;

  to.add<ops::_fused_adagrad_,
         &list_call<ops::_fused_adagrad_, &_fused_adagrad_kernel_cpu_>::run>();
  to.add<ops::_fused_adam_, &list_call<ops::_fused_adam_, &_fused_adam_kernel_cpu_>::run>();
  to.add<ops::_fused_adamw_, &list_call<ops::_fused_adamw_, &_fused_adamw_kernel_cpu_>::run>();
  to.add<ops::_fused_sgd_, &list_call<ops::_fused_sgd_, &_fused_sgd_kernel_cpu_>::run>();
}

}  // namespace outback::ops
