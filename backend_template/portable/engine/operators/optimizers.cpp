// The fused steps of optimizers: one launch for each parameter. Nothing waits for the device, so
// the numbers of steps, the scaler's numbers and a rate that is the device's stay there.
#include <ATen/core/Tensor.h>

#include <ATen/ops/_fused_adagrad_ops.h>
#include <ATen/ops/_fused_adam_ops.h>
#include <ATen/ops/_fused_adamw_ops.h>
#include <ATen/ops/_fused_sgd_ops.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "backend_template/core/streams/stream.h"
#include "backend_template/ops/tensors/tensor_fields.h"
#include "backend_template/portable/engine/dense.h"
#include "backend_template/portable/engine/in_order.h"
#include "backend_template/portable/engine/kernel_family.h"
#include "backend_template/portable/engine/launch.h"
#include "backend_template/portable/engine/operator.h"
#include "backend_template/portable/engine/operators.h"

namespace outback::portable {
namespace {

using maybe_tensor = std::optional<at::Tensor>;

constinit kernel_family adam_kernels("optimizer", "adam");
constinit kernel_family sgd_kernels("optimizer", "sgd");
constinit kernel_family adagrad_kernels("optimizer", "adagrad");

// The numbers that kernels take: `adam_numbers_T` and its relatives in
// portable/kernels/optimizer.k.
template <class C>
struct adam_numbers {
  C rate, fresh1, fresh2, beta2, log_beta1, log_beta2, weight_decay, eps;
  int32_t shrinks, maximize;
};

template <class C>
struct sgd_numbers {
  C rate, weight_decay, momentum, fresh;
  int32_t nesterov, maximize, is_first, reserved;
};

template <class C>
struct adagrad_numbers {
  C rate, rate_decay, weight_decay, eps;
  int32_t maximize, reserved;
};

// A learning rate: a number, or a number of the device's.
struct learning_rate {
  learning_rate(double rate) : number(rate) {}
  explicit learning_rate(const at::Tensor& rate) {
    if (rate.is_cpu()) {
      number = rate.item<double>();
    } else {
      if (rate.numel() != 1) throw no_kernel();
      tensor = rate.to(c10::kFloat);
    }
  }

  double number = 0;
  at::Tensor tensor;
};

bool is_number_there(const at::Tensor& tensor) {
  return ops::is_ours(tensor) && tensor.scalar_type() == c10::kFloat && tensor.numel() == 1;
}

at::Tensor number_there(const maybe_tensor& tensor) {
  if (!tensor || !tensor->defined()) return {};
  if (!is_number_there(*tensor)) throw no_kernel();
  return *tensor;
}

// What the optimizers have in common: the parameters, their gradients, and the scaler's numbers.
class parameters {
 public:
  parameters(at::TensorList params, at::TensorList grads, const maybe_tensor& scale,
             const maybe_tensor& found)
      : params_(params), grads_(grads), scale_(number_there(scale)), found_(number_there(found)) {
    if (grads.size() != params.size()) throw no_kernel();
    for (size_t i = 0; i < params.size(); ++i) {
      const bool fits = ops::is_ours(params[i]) && params[i].is_non_overlapping_and_dense() &&
                        is_of(i, grads[i]) && grads[i].sizes() == params[i].sizes();
      if (!fits) throw no_kernel();
    }
  }

  // Throws no_kernel unless `list` has one tensor for each parameter, of its size and dtype.
  void expect_state(at::TensorList list) const {
    if (list.size() != params_.size()) throw no_kernel();
    for (size_t i = 0; i < list.size(); ++i) {
      if (!is_of(i, list[i]) || list[i].sizes() != params_[i].sizes()) throw no_kernel();
    }
  }

  void expect_steps(at::TensorList steps) const {
    const bool all_fit =
        steps.size() == params_.size() && std::all_of(steps.begin(), steps.end(), &is_number_there);
    if (!all_fit) throw no_kernel();
  }

  // Launches the family's kernels: `numbers_in(zero)` are the numbers in the type of `zero`,
  // `pointers_before(i)` the pointers before the scaler's for parameter i, and `states` the lists
  // behind the gradients; an empty one is null pointers.
  template <size_t count, class Numbers, class Before>
  void step(kernel_family& family, const Numbers& numbers_in, const Before& pointers_before,
            const std::array<at::TensorList, count>& states) const {
    // Kernels that are missing are noticed before anything is written.
    for (const at::Tensor& param : params_) kernel_of(family, param);
    for (size_t i = 0; i < params_.size(); ++i) {
      if (params_[i].numel() == 0) continue;
      const at::Tensor grad = in_order(grads_[i], params_[i]);
      std::array<at::Tensor, count> own;
      std::transform(states.begin(), states.end(), own.begin(), [&](at::TensorList list) {
        return list.empty() ? at::Tensor() : in_order(list[i], params_[i]);
      });
      with_computed_type(type_of_floats(params_[i].scalar_type()), [&](auto zero) {
        launch_for(i, kernel_of(family, params_[i]), numbers_in(zero), pointers_before(i), grad,
                   own);
      });
      if (scale_.defined()) put_back(grad, grads_[i]);
      for (size_t k = 0; k < count; ++k) {
        if (own[k].defined()) put_back(own[k], states[k][i]);
      }
    }
  }

 private:
  bool is_of(size_t i, const at::Tensor& tensor) const {
    return ops::is_ours(tensor) && tensor.device() == params_[i].device() &&
           tensor.scalar_type() == params_[i].scalar_type();
  }

  static const kernels::packed_kernel& kernel_of(kernel_family& family, const at::Tensor& param) {
    return family.of(param.device().index(), type_of_floats(param.scalar_type()));
  }

  // What the kernel has written may be a copy, in the order of the parameter.
  static void put_back(const at::Tensor& written, const at::Tensor& to) {
    if (!written.is_same(to)) to.copy_(written);
  }

  template <class Numbers, size_t before, size_t count>
  void launch_for(size_t i, const kernels::packed_kernel& kernel, const Numbers& numbers,
                  const std::array<device_pointer, before>& pointers_before, const at::Tensor& grad,
                  const std::array<at::Tensor, count>& states) const {
    const at::Tensor& param = params_[i];
    const int64_t elements = param.numel();
    std::apply(
        [&](const auto&... first) {
          std::apply(
              [&](const auto&... last) {
                launch(core::current_stream(param.device().index()), kernel,
                       groups_for(elements, kernel), elements, numbers, first...,
                       pointer_to(scale_), pointer_to(found_), pointer_to(param), pointer_to(grad),
                       pointer_to(last)...);
              },
              states);
        },
        pointers_before);
  }

  at::TensorList params_;
  at::TensorList grads_;
  at::Tensor scale_;
  at::Tensor found_;
};

// ---- Adam and AdamW

enum class decay : int8_t { of_gradients, of_parameters };

template <decay decays>
void adam(at::TensorList params, at::TensorList grads, at::TensorList means, at::TensorList squares,
          at::TensorList most, at::TensorList steps, const learning_rate& rate, double beta1,
          double beta2, double weight_decay, double eps, bool amsgrad, bool maximize,
          const maybe_tensor& scale, const maybe_tensor& found) {
  const parameters all(params, grads, scale, found);
  all.expect_state(means);
  all.expect_state(squares);
  if (amsgrad) all.expect_state(most);
  all.expect_steps(steps);
  const auto numbers = [&]<class C>(C /*zero*/) {
    const auto as = [](double value) { return static_cast<C>(value); };
    return adam_numbers<C>{as(rate.number),
                           as(1 - beta1),
                           as(1 - beta2),
                           as(beta2),
                           as(std::log(beta1)),
                           as(std::log(beta2)),
                           as(weight_decay),
                           as(eps),
                           decays == decay::of_parameters,
                           maximize};
  };
  all.step(
      adam_kernels, numbers,
      [&](size_t i) { return std::array{pointer_to(steps[i]), pointer_to(rate.tensor)}; },
      std::array{means, squares, amsgrad ? most : at::TensorList()});
}

template <decay decays>
void adam_at(at::TensorList params, at::TensorList grads, at::TensorList means,
             at::TensorList squares, at::TensorList most, at::TensorList steps, double rate,
             double beta1, double beta2, double weight_decay, double eps, bool amsgrad,
             bool maximize, const maybe_tensor& scale, const maybe_tensor& found) {
  adam<decays>(params, grads, means, squares, most, steps, rate, beta1, beta2, weight_decay, eps,
               amsgrad, maximize, scale, found);
}

template <decay decays>
void adam_at_tensor(at::TensorList params, at::TensorList grads, at::TensorList means,
                    at::TensorList squares, at::TensorList most, at::TensorList steps,
                    const at::Tensor& rate, double beta1, double beta2, double weight_decay,
                    double eps, bool amsgrad, bool maximize, const maybe_tensor& scale,
                    const maybe_tensor& found) {
  adam<decays>(params, grads, means, squares, most, steps, learning_rate(rate), beta1, beta2,
               weight_decay, eps, amsgrad, maximize, scale, found);
}

// ---- SGD and Adagrad

void sgd(at::TensorList params, at::TensorList grads, at::TensorList momenta, double weight_decay,
         double momentum, const learning_rate& rate, double dampening, bool nesterov, bool maximize,
         bool is_first, const maybe_tensor& scale, const maybe_tensor& found) {
  const parameters all(params, grads, scale, found);
  const bool has_momenta = momentum != 0;
  if (has_momenta) all.expect_state(momenta);
  const auto numbers = [&]<class C>(C /*zero*/) {
    return sgd_numbers<C>{static_cast<C>(rate.number),
                          static_cast<C>(weight_decay),
                          static_cast<C>(momentum),
                          static_cast<C>(1 - dampening),
                          nesterov,
                          maximize,
                          is_first,
                          0};
  };
  all.step(
      sgd_kernels, numbers, [&](size_t) { return std::array{pointer_to(rate.tensor)}; },
      std::array{has_momenta ? momenta : at::TensorList()});
}

void sgd_at(at::TensorList params, at::TensorList grads, at::TensorList momenta,
            double weight_decay, double momentum, double rate, double dampening, bool nesterov,
            bool maximize, bool is_first, const maybe_tensor& scale, const maybe_tensor& found) {
  sgd(params, grads, momenta, weight_decay, momentum, rate, dampening, nesterov, maximize, is_first,
      scale, found);
}

void sgd_at_tensor(at::TensorList params, at::TensorList grads, at::TensorList momenta,
                   double weight_decay, double momentum, const at::Tensor& rate, double dampening,
                   bool nesterov, bool maximize, bool is_first, const maybe_tensor& scale,
                   const maybe_tensor& found) {
  sgd(params, grads, momenta, weight_decay, momentum, learning_rate(rate), dampening, nesterov,
      maximize, is_first, scale, found);
}

void adagrad(at::TensorList params, at::TensorList grads, at::TensorList sums, at::TensorList steps,
             double rate, double rate_decay, double weight_decay, double eps, bool maximize,
             const maybe_tensor& scale, const maybe_tensor& found) {
  const parameters all(params, grads, scale, found);
  all.expect_state(sums);
  all.expect_steps(steps);
  const auto numbers = [&]<class C>(C /*zero*/) {
    return adagrad_numbers<C>{static_cast<C>(rate),
                              static_cast<C>(rate_decay),
                              static_cast<C>(weight_decay),
                              static_cast<C>(eps),
                              maximize,
                              0};
  };
  all.step(
      adagrad_kernels, numbers,
      [&](size_t i) { return std::array{pointer_to(steps[i]), device_pointer{nullptr}}; },
      std::array{sums});
}

}  // namespace

void add_optimizers(ops::registrar& to) {
  namespace ops = at::_ops;
  add<ops::_fused_adam_, &adam_at<decay::of_gradients>>(to);
  add<ops::_fused_adam__tensor_lr, &adam_at_tensor<decay::of_gradients>>(to);
  add<ops::_fused_adamw_, &adam_at<decay::of_parameters>>(to);
  add<ops::_fused_adamw__tensor_lr, &adam_at_tensor<decay::of_parameters>>(to);
  add<ops::_fused_sgd_, &sgd_at>(to);
  add<ops::_fused_sgd__tensor_lr, &sgd_at_tensor>(to);
  add<ops::_fused_adagrad_, &adagrad>(to);
}

}  // namespace outback::portable
