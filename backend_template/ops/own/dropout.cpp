// native_dropout, the operator that dropout uses on accelerators. The CPU's kernel would draw from
// the CPU's default generator; this one is composed of operators of the device, so bernoulli_ draws
// from the device's generator. A twin's kernel draws from the device's by itself.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/native_dropout_ops.h>
#include <ATen/ops/ones_like.h>

#include <tuple>

#include "backend_template/ops/in_place/twin_first.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {
namespace {

std::tuple<at::Tensor, at::Tensor> native_dropout(const at::Tensor& input, double p,
                                                  std::optional<bool> train) {
  if (input.numel() == 0) return {input, at::empty_like(input, input.options())};
  if (train.has_value() && !*train) {
    return {input.clone(), at::ones_like(input, input.options().dtype(c10::kBool))};
  }
  at::Tensor mask = at::empty_like(input, input.options().dtype(c10::kBool));
  mask.bernoulli_(1 - p);
  const double scale = p == 1 ? 0. : 1. / (1. - p);
  at::Tensor output = input.mul(mask).mul_(scale);
  return {std::move(output), std::move(mask)};
}

}  // namespace

void register_dropout(registrar& to) {
  add_twin_first<at::_ops::native_dropout, &native_dropout>(to);
}

}  // namespace outback::ops
