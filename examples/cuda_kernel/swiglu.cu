// A CUDA kernel in a backend on the CUDA runtime: acme::swiglu(gate, up) = silu(gate) * up, in one
// pass over the memory, with its derivative and its shape function.
//
// The launches have no <<<>>>, so that a C++ compiler takes this file as well: the tests run these
// kernels on the host.
#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/sigmoid.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <cuda_runtime.h>
#include <outback/kernels/autograd.h>
#include <outback/kernels/stream.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <tuple>

namespace {

// ---- On the device. A thread computes every `step`-th element, so any grid is large enough. Half
// and bfloat16 are computed in float, as PyTorch does.

template <class scalar_t>
__global__ void swiglu_forward(int64_t count, const scalar_t* gate, const scalar_t* up,
                               scalar_t* out) {
  using math_t = at::opmath_type<scalar_t>;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    const auto g = static_cast<math_t>(gate[i]);
    out[i] = static_cast<scalar_t>(g / (1 + std::exp(-g)) * static_cast<math_t>(up[i]));
  }
}

template <class scalar_t>
__global__ void swiglu_backward(int64_t count, const scalar_t* grad, const scalar_t* gate,
                                const scalar_t* up, scalar_t* grad_gate, scalar_t* grad_up) {
  using math_t = at::opmath_type<scalar_t>;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    const auto d = static_cast<math_t>(grad[i]), g = static_cast<math_t>(gate[i]);
    const math_t s = 1 / (1 + std::exp(-g));
    grad_gate[i] = static_cast<scalar_t>(d * static_cast<math_t>(up[i]) * s * (1 + g * (1 - s)));
    grad_up[i] = static_cast<scalar_t>(d * g * s);
  }
}

// ---- Launches.

// Launches a kernel for `count` elements on the device's current stream, and returns before it is
// done.
template <class... Parameters, class... Arguments>
void launch(c10::Device device, void (*kernel)(int64_t, Parameters...), int64_t count,
            Arguments... arguments) {
  if (count == 0) return;  // CUDA refuses an empty grid
  constexpr int64_t threads = 256, most_blocks = 4096;
  const c10::DeviceGuard here(device);                  // makes it CUDA's current device, too
  std::optional<outback::kernels::kernel_stream> busy;  // tells the backend that there is work
  if (device.is_privateuseone()) busy.emplace(device);
  const c10::impl::VirtualGuardImpl streams(device.type());
  cudaLaunchConfig_t config = {};
  config.gridDim =
      dim3(static_cast<unsigned>(std::min((count + threads - 1) / threads, most_blocks)));
  config.blockDim = dim3(threads);
  config.stream =
      static_cast<cudaStream_t>(streams.getStreamNativeHandle(streams.getStream(device)));
  const cudaError_t status = cudaLaunchKernelEx(&config, kernel, count, arguments...);
  if (status == cudaSuccess) return;
  cudaGetLastError();  // otherwise the next one who asks CUDA gets it again
  TORCH_CHECK(false, "swiglu: the launch failed: ", cudaGetErrorString(status));
}

// ---- The operators. The kernels rely on what this checks.

void check_like(const at::Tensor& gate, const at::Tensor& other, const char* name) {
  TORCH_CHECK(gate.is_floating_point(), "swiglu: expected floating-point tensors, got ",
              gate.scalar_type());
  TORCH_CHECK(other.device() == gate.device(), "swiglu: gate is on ", gate.device(), ", and ", name,
              " on ", other.device());
  TORCH_CHECK(other.scalar_type() == gate.scalar_type(), "swiglu: gate is of ", gate.scalar_type(),
              ", and ", name, " of ", other.scalar_type());
  TORCH_CHECK(other.sym_sizes() == gate.sym_sizes(), "swiglu: gate has the shape ",
              gate.sym_sizes(), ", and ", name, " ", other.sym_sizes());
}

// The result of an operator: contiguous, whatever the arguments are.
at::Tensor empty_of(const at::Tensor& gate) {
  return at::empty_symint(gate.sym_sizes(), gate.options());
}

at::Tensor swiglu_meta(const at::Tensor& gate, const at::Tensor& up) {
  check_like(gate, up, "up");
  return empty_of(gate);
}

std::tuple<at::Tensor, at::Tensor> swiglu_backward_meta(const at::Tensor& grad,
                                                        const at::Tensor& gate,
                                                        const at::Tensor& up) {
  check_like(gate, up, "up");
  check_like(gate, grad, "the gradient");
  return {empty_of(gate), empty_of(gate)};
}

at::Tensor swiglu_on_device(const at::Tensor& gate, const at::Tensor& up) {
  at::Tensor out = swiglu_meta(gate, up);
  const at::Tensor g = gate.contiguous(), u = up.contiguous();
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, g.scalar_type(), "swiglu", [&] {
    launch(g.device(), swiglu_forward<scalar_t>, out.numel(), g.const_data_ptr<scalar_t>(),
           u.const_data_ptr<scalar_t>(), out.mutable_data_ptr<scalar_t>());
  });
  return out;
}

std::tuple<at::Tensor, at::Tensor> swiglu_backward_on_device(const at::Tensor& grad,
                                                             const at::Tensor& gate,
                                                             const at::Tensor& up) {
  auto [grad_gate, grad_up] = swiglu_backward_meta(grad, gate, up);
  const at::Tensor d = grad.contiguous(), g = gate.contiguous(), u = up.contiguous();
  const int64_t count = g.numel();
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, g.scalar_type(), "swiglu", [&] {
    launch(g.device(), swiglu_backward<scalar_t>, count, d.const_data_ptr<scalar_t>(),
           g.const_data_ptr<scalar_t>(), u.const_data_ptr<scalar_t>(),
           grad_gate.mutable_data_ptr<scalar_t>(), grad_up.mutable_data_ptr<scalar_t>());
  });
  return {grad_gate, grad_up};
}

// ---- The derivative.

at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("acme::swiglu", "")
                             .typed<at::Tensor(const at::Tensor&, const at::Tensor&)>();
  return op.call(gate, up);
}

struct swiglu_formula {
  static void setup_context(outback::kernels::autograd_context* ctx, const at::Tensor& gate,
                            const at::Tensor& up, const at::Tensor& /*output*/) {
    ctx->save_for_backward({gate, up});
  }

  static outback::kernels::variable_list backward(outback::kernels::autograd_context* ctx,
                                                  const outback::kernels::variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &grad = grads[0], &gate = saved[0], &up = saved[1];
    if (at::GradMode::is_enabled()) {  // create_graph: these operators have derivatives themselves
      const at::Tensor s = at::sigmoid(gate);
      return {grad * up * s * (1 + gate * (1 - s)), grad * gate * s};
    }
    static const auto op = c10::Dispatcher::singleton()
                               .findSchemaOrThrow("acme::swiglu_backward", "")
                               .typed<std::tuple<at::Tensor, at::Tensor>(
                                   const at::Tensor&, const at::Tensor&, const at::Tensor&)>();
    auto [grad_gate, grad_up] = op.call(grad, gate, up);
    return {grad_gate, grad_up};
  }
};

}  // namespace

TORCH_LIBRARY_FRAGMENT(acme, m) {
  m.def("swiglu(Tensor gate, Tensor up) -> Tensor", {at::Tag::pt2_compliant_tag});
  m.def("swiglu_backward(Tensor grad, Tensor gate, Tensor up) -> (Tensor, Tensor)",
        {at::Tag::pt2_compliant_tag});
}
TORCH_LIBRARY_IMPL(acme, PrivateUse1, m) {
  m.impl("swiglu", &swiglu_on_device);
  m.impl("swiglu_backward", &swiglu_backward_on_device);
}
// On a CUDA build of torch, Inductor runs its code on CUDA tensors over the same memory.
TORCH_LIBRARY_IMPL(acme, CUDA, m) {
  m.impl("swiglu", &swiglu_on_device);
  m.impl("swiglu_backward", &swiglu_backward_on_device);
}
TORCH_LIBRARY_IMPL(acme, Meta, m) {
  m.impl("swiglu", &swiglu_meta);
  m.impl("swiglu_backward", &swiglu_backward_meta);
}
TORCH_LIBRARY_IMPL(acme, Autograd, m) {
  m.impl("swiglu", outback::kernels::autograd<swiglu_formula, &swiglu>());
}
