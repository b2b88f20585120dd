// What torch composes by way of float64 on every device that it does not know: the tolerances of
// matrix_rank and pinv (lstsq's derivative takes a pinv), the norms in renorm's derivative, and the
// statistics of batch_norm of an empty batch. On a device without float64 they are float32 here.
// The results are none of a dtype that the caller did not ask for.
#include <ATen/AccumulateType.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/stack.h>
#include <ATen/ops/_batch_norm_impl_index_native.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/where.h>
#include <c10/core/DispatchKey.h>

#include <array>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "backend_template/core/devices/dtypes.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {
namespace {

using c10::DispatchKey;
using optional_tensor = std::optional<at::Tensor>;

// True if torch would compute on the way in a dtype that the device has not: in that of the CPU's
// sums, float64 for float32 and complex128 for complex64.
bool goes_by_float64(const at::Tensor& input) {
  return !core::supports(at::toAccumulateType(input.scalar_type(), /*is_cuda=*/false));
}

// Runs what torch composes, which the kernels here are in front of.
void run_torchs(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  constexpr auto implicit = DispatchKey::CompositeImplicitAutograd;
  op.callBoxedForDispatchKey(op.hasKernelForDispatchKey(implicit)
                                 ? implicit
                                 : DispatchKey::CompositeExplicitAutogradNonFunctional,
                             stack);
}

// The overloads of both operators that make a tolerance: of a number, or where there is none.
constexpr std::array tolerant_operators{"linalg_matrix_rank", "linalg_pinv"};
constexpr std::array tolerant_overloads{"",
                                        "out",
                                        "atol_rtol_float",
                                        "atol_rtol_float_out",
                                        "atol_rtol_tensor",
                                        "atol_rtol_tensor_out",
                                        "rcond_tensor",
                                        "out_rcond_tensor"};

// The arguments of such an overload.
struct tolerant_call {
  at::Tensor input;
  c10::IValue atol, rtol;  // numbers, tensors or none
  c10::IValue hermitian, out;
};

tolerant_call tolerant_call_of(const c10::FunctionSchema& schema,
                               c10::ArrayRef<c10::IValue> values) {
  tolerant_call call;
  call.input = values[0].toTensor();
  for (size_t i = 1; i < values.size(); ++i) {
    const std::string_view name = schema.arguments()[i].name();
    if (name == "atol" || name == "tol") call.atol = values[i];
    if (name == "tol") call.rtol = 0.;
    if (name == "rtol" || name == "rcond") call.rtol = values[i];
    if (name == "hermitian") call.hermitian = values[i];
    if (name == "out") call.out = values[i];
  }
  return call;
}

// Makes the tolerances as torch does, and calls the overload that takes tensors, which with both of
// them makes no more.
void with_tolerances(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const size_t arguments = op.schema().arguments().size();
  const tolerant_call call = tolerant_call_of(op.schema(), torch::jit::last(*stack, arguments));
  const bool has_both = call.atol.isTensor() && call.rtol.isTensor();
  // A vendor's kernel is below autograd, so it would not be called.
  if (!registrar::serves(op)) return op.callBoxedForDispatchKey(DispatchKey::PrivateUse1, *stack);
  if (has_both || core::supports(c10::kDouble)) return run_torchs(op, *stack);
  const auto number = [&](const at::Scalar& value) {
    return at::full({}, value, call.input.options().dtype(c10::kFloat));
  };
  const auto tensor_of = [&](const c10::IValue& given) {
    return given.isTensor() ? given.toTensor() : number(given.isNone() ? 0 : given.toDouble());
  };
  const at::Tensor atol = tensor_of(call.atol);
  at::Tensor rtol = tensor_of(call.rtol);
  if (call.rtol.isNone()) {
    const bool is_matrix = call.input.dim() >= 2;  // else the overload refuses it
    const c10::SymFloat longer =
        is_matrix ? call.input.sym_size(-1).max(call.input.sym_size(-2)) : c10::SymInt(0);
    rtol =
        at::where(atol > 0, rtol, number(longer * double{std::numeric_limits<float>::epsilon()}));
  }
  torch::jit::drop(*stack, arguments);
  torch::jit::push(*stack, call.input, atol, rtol, call.hermitian);
  if (!call.out.isNone()) stack->push_back(call.out);
  const std::string name = op.schema().name().substr(std::string_view("aten::").size());
  registrar::find(name.c_str(), call.out.isNone() ? "atol_rtol_tensor" : "atol_rtol_tensor_out")
      .value()
      .callBoxed(*stack);
}

// renorm, composed of what has derivatives in float32. The addend is torch's.
at::Tensor renormed(const at::Tensor& self, const at::Scalar& p, int64_t dim,
                    const at::Scalar& most) {
  std::vector<int64_t> dims;
  for (int64_t i = 0; i < self.dim(); ++i) {
    if (i != c10::maybe_wrap_dim(dim, self.dim())) dims.push_back(i);
  }
  const at::Tensor norm = at::linalg_vector_norm(self, p, dims, /*keepdim=*/true);
  return self * at::where(norm > most, (norm + 1e-7).reciprocal() * most, at::Scalar(1));
}

bool has_derivative(const at::Tensor& self) {
  return (at::GradMode::is_enabled() && self.requires_grad()) || self._fw_grad(0).defined();
}

bool is_refused(const at::Tensor& self, const at::Scalar& p, const at::Scalar& most) {
  return self.dim() < 2 || p.isComplex() || p.toDouble() <= 0 || most.toDouble() < 0;
}

// Above autograd, for renorm and renorm_: torch's derivative takes the norms in float64.
void renorm(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto arguments = torch::jit::last(*stack, 4);
  const at::Tensor self = arguments[0].toTensor();
  const at::Scalar p = arguments[1].toScalar(), most = arguments[3].toScalar();
  const int64_t dim = arguments[2].toInt();
  if (!goes_by_float64(self) || !has_derivative(self) || is_refused(self, p, most)) {
    return op.callBoxedForDispatchKey(DispatchKey::Autograd, *stack);
  }
  torch::jit::drop(*stack, 4);
  const bool in_place = op.schema().name().ends_with('_');
  stack->emplace_back(in_place ? self.copy_(renormed(self.clone(), p, dim, most))
                               : renormed(self, p, dim, most));
}

// The operator that batch_norm is composed of. Of an empty batch the statistics are not read.
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, int64_t> batch_norm_of_maybe_nothing(
    const at::Tensor& input, const optional_tensor& weight, const optional_tensor& bias,
    const optional_tensor& running_mean, const optional_tensor& running_var, bool training,
    double momentum, double eps, bool cudnn_enabled) {
  if (input.sym_numel() != 0 || !goes_by_float64(input)) {
    return at::native::_batch_norm_impl_index(input, weight, bias, running_mean, running_var,
                                              training, momentum, eps, cudnn_enabled);
  }
  at::Tensor result = input.clone();  // which keeps the derivatives' chain
  if (weight && weight->defined()) result = result * weight->select(0, 0);
  if (bias && bias->defined()) result = result + bias->select(0, 0);
  const at::Tensor statistics =
      at::empty_symint({input.dim() > 1 ? input.sym_size(1) : 0}, input.options());
  at::Tensor reserve = at::empty({0}, input.options().dtype(c10::kByte));
  return {std::move(result), statistics, at::empty_like(statistics), std::move(reserve), 0};
}

}  // namespace

void register_without_float64(registrar& to) {
  for (const char* name : tolerant_operators) {
    for (const char* overload : tolerant_overloads) {
      const auto op = registrar::find(name, overload);
      // Without a kernel where torch's calls another overload.
      if (!op || op->hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutograd)) continue;
      const auto kernel = c10::KernelFunction::makeFromBoxedFunction<&with_tolerances>();
      to.add_boxed(*op, DispatchKey::PrivateUse1, kernel);
      if (op->hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd)) {
        to.add_boxed(*op, DispatchKey::AutogradPrivateUse1, kernel);
      }
    }
  }
  for (const char* name : {"renorm", "renorm_"}) {
    to.add_boxed(registrar::find(name, "").value(), DispatchKey::AutogradPrivateUse1,
                 c10::KernelFunction::makeFromBoxedFunction<&renorm>());
  }
  to.add<&batch_norm_of_maybe_nothing>("_batch_norm_impl_index", "",
                                       DispatchKey::AutogradPrivateUse1);
  to.add<&batch_norm_of_maybe_nothing>("_batch_norm_impl_index");
}

}  // namespace outback::ops
