// The fused steps of optimizers: torch's kernels go through lists of tensors by their pointers, so
// they run in place, those for the CPU and those for CUDA. A model has hundreds of parameters, with
// four or five tensors each, and lending them all would cost as much as the step.
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <utility>

#include "backend_template/core/streams/sync_debug.h"
#include "backend_template/ops/in_place/bare_tensors.h"
#include "backend_template/ops/in_place/kernel_call.h"
#include "backend_template/ops/in_place/lent_call.h"
#include "backend_template/ops/in_place/unboxed_kernel.h"
#include "backend_template/ops/on_pointers/reduced_sgd.h"
#include "backend_template/ops/on_pointers/structured.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {
namespace {

// The CPU's kernels take the elements in the order in which they lie, and do not look at strides.
bool is_in_order(at::TensorList list) {
  return std::all_of(list.begin(), list.end(),
                     [](const at::Tensor& tensor) { return tensor.is_contiguous(); });
}

bool is_in_order(const std::optional<at::Tensor>& tensor) {
  return !tensor || tensor->is_contiguous();
}

template <class Other>
bool is_in_order(const Other& /*not a tensor*/) {
  return true;
}

template <class Operator, typename Operator::schema* kernel,
          class Signature = typename Operator::schema>
struct list_call;

template <class Operator, typename Operator::schema* kernel, class... Others>
struct list_call<Operator, kernel, void(at::TensorList, Others...)> {
  static void run(at::TensorList self, Others... others) {
    if (self.empty() || !is_ours(self[0])) return lend(self, others...);
    const c10::Device device = self[0].device();
    // The dtypes may differ: the kernels check them, and the numbers of steps are float32 whatever
    // the parameters are.
    if (!is_bare(device, self) || !(is_bare(device, others) && ...)) return lend(self, others...);
    if (takes_bare_lists(device) && has_kernel<Operator>(target_of(device.index()))) {
      return run_on_twin(device, self, others...);
    }
    // The kernels read the numbers of steps with item(), which is no wait of the user's.
    const bool is_watched = core::get_sync_debug_mode() != core::sync_debug_mode::off;
    const bool runs_on_pointers =
        !is_watched && is_in_order(self) && (is_in_order(others) && ...) && ready(self[0]);
    return runs_on_pointers ? kernel(self, others...) : lend(self, others...);
  }

 private:
  static void lend(at::TensorList self, Others... others) {
    lent_call<Operator>::run(self, std::forward<Others>(others)...);
  }

  static void run_on_twin(c10::Device device, at::TensorList self, Others... others) {
    kernel_call call;
    call.lend(device);
    const operator_text& name = operator_of<Operator>.text;
    call.begin(name);
    call.run(name, [&] {
      Operator::redispatch(call.target().keys, self, std::forward<Others>(others)...);
    });
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
  constexpr auto* sgd = &list_call<ops::_fused_sgd_, &_fused_sgd_kernel_cpu_>::run;
  constexpr auto* sgd_at_a_tensors_rate = &lent_call<ops::_fused_sgd__tensor_lr>::run;
  to.add<ops::_fused_sgd_, &reduced_sgd<ops::_fused_sgd_, sgd>::run>();
  to.add<ops::_fused_sgd__tensor_lr,
         &reduced_sgd<ops::_fused_sgd__tensor_lr, sgd_at_a_tensors_rate>::run>();
}

}  // namespace outback::ops
