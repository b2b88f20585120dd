// A backend in a program without Python: registers a runtime, trains a model on it, and lets go of
// everything before it ends.
#include <ATen/DeviceAccelerator.h>
#include <outback/backend.h>
#include <outback/nn.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adam.h>

#include <cmath>
#include <iostream>

#include "backend_template/runtimes/host/host.h"

namespace {

/// Teaches `model` what the logical "exclusive or" is, and answers its last loss.
float train(torch::nn::Sequential& model, const at::Tensor& x, const at::Tensor& y) {
  torch::optim::Adam optimizer(model->parameters(), /*lr=*/0.1);
  at::Tensor loss;
  for (int step = 0; step < 200; ++step) {
    optimizer.zero_grad();
    loss = (model->forward(x) - y).square().mean();
    loss.backward();
    optimizer.step();
  }
  return loss.item<float>();
}

}  // namespace

int main() {
  outback::register_backend({.name = "acme", .runtime = outback_host_runtime()});
  std::cout << "devices: " << int{at::accelerator::deviceCount()} << '\n';

  torch::manual_seed(0);
  torch::nn::Sequential model(torch::nn::Linear(2, 8), torch::nn::Tanh(), torch::nn::Linear(8, 1));
  torch::nn::Sequential on_cpu(
      std::dynamic_pointer_cast<torch::nn::SequentialImpl>(model->clone()));
  outback::to_backend(*model);
  const at::Tensor x = at::tensor({0.f, 0.f, 0.f, 1.f, 1.f, 0.f, 1.f, 1.f}).view({4, 2});
  const at::Tensor y = at::tensor({0.f, 1.f, 1.f, 0.f}).view({4, 1});

  const float loss = train(model, outback::to_backend(x), outback::to_backend(y));
  const float loss_on_cpu = train(on_cpu, x, y);
  const at::Tensor learned = model->forward(outback::to_backend(x));
  std::cout << "learned: " << (loss < 1e-3 ? "yes" : "no") << '\n'
            << "as on the CPU: " << (std::abs(loss - loss_on_cpu) < 1e-5 ? "yes" : "no") << '\n'
            << "output on " << learned.device() << ":";
  for (int row = 0; row < 4; ++row) {
    std::cout << ' ' << std::lround(learned[row].item<float>());
  }
  std::cout << '\n';
  return outback::is_backend(learned) && loss < 1e-3 ? 0 : 1;
}
