// native_batch_norm. In training it writes its running statistics, which its schema does not say;
// in evaluation it only reads them. So whether they are lent for writing depends on `training`.
#include <ATen/core/Tensor.h>
#include <ATen/ops/native_batch_norm_ops.h>

#include <optional>
#include <tuple>

#include "backend_template/ops/in_place/kernel_call.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {
namespace {

using op = at::_ops::native_batch_norm;
using optional_tensor = std::optional<at::Tensor>;

std::tuple<at::Tensor, at::Tensor, at::Tensor> batch_norm(
    const at::Tensor& input, const optional_tensor& weight, const optional_tensor& bias,
    const optional_tensor& running_mean, const optional_tensor& running_var, bool training,
    double momentum, double eps) {
  kernel_call call;
  const access statistics = training ? access::write : access::read;
  const at::Tensor lent = call.lend(input);
  const optional_tensor lent_weight = call.lend(weight), lent_bias = call.lend(bias),
                        mean = call.lend(running_mean, statistics),
                        var = call.lend(running_var, statistics);
  call.begin(operator_text{op::name, op::overload_name});
  auto [result, saved_mean, saved_invstd] =
      op::redispatch(c10::DispatchKeySet(c10::DispatchKey::CPU), lent, lent_weight, lent_bias, mean,
                     var, training, momentum, eps);
  call.finish();
  return {call.take_back(std::move(result)), call.take_back(std::move(saved_mean)),
          call.take_back(std::move(saved_invstd))};
}

}  // namespace

void register_batch_norm(registrar& to) {
  to.add<&batch_norm>("native_batch_norm");
}

}  // namespace outback::ops
