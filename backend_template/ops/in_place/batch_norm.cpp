// native_batch_norm, and _native_batch_norm_legit, which differs by its schema alone. In training
// it writes its running statistics, which its schema does not say; in evaluation it only reads
// them. So whether they are lent for writing depends on `training`.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
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
  const optional_tensor lent_weight = call.lend(weight, access::read, mixing::no_scalars),
                        lent_bias = call.lend(bias, access::read, mixing::no_scalars),
                        mean = call.lend(running_mean, statistics),
                        var = call.lend(running_var, statistics);
  constexpr operator_text name{op::name, op::overload_name};
  call.begin(name);
  auto [result, saved_mean, saved_invstd] = call.run(name, [&] {
    return op::redispatch(call.target().keys, lent, lent_weight, lent_bias, mean, var, training,
                          momentum, eps);
  });
  call.finish();
  return {call.take_back(std::move(result)), call.take_back(std::move(saved_mean)),
          call.take_back(std::move(saved_invstd))};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> batch_norm_of_module(
    const at::Tensor& input, const optional_tensor& weight, const optional_tensor& bias,
    at::Tensor& running_mean, at::Tensor& running_var, bool training, double momentum, double eps) {
  return batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps);
}

// torch composes it of the CPU's function, whatever the device.
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> batch_norm_no_update(
    const at::Tensor& input, const optional_tensor& weight, const optional_tensor& bias,
    const optional_tensor& running_mean, const optional_tensor& running_var, double momentum,
    double eps) {
  auto [result, mean, invstd] =
      batch_norm(input, weight, bias, running_mean, running_var, /*training=*/false, momentum, eps);
  at::Tensor reserve = at::empty({0}, input.options().dtype(c10::kByte));
  return {std::move(result), std::move(mean), std::move(invstd), std::move(reserve)};
}

}  // namespace

void register_batch_norm(registrar& to) {
  to.add<&batch_norm>("native_batch_norm");
  to.add<&batch_norm_of_module>("_native_batch_norm_legit");
  to.add<&batch_norm_no_update>("_batch_norm_no_update");
}

}  // namespace outback::ops
