// A backend in a program without Python: registers a runtime, moves a module there, and trains it.
#include <outback/backend.h>
#include <outback/nn.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>

#include <iostream>

#include "backend_template/runtimes/null/null.h"

int main() {
  outback::register_backend({.name = "acme", .runtime = outback_null_runtime()});

  torch::manual_seed(0);
  torch::nn::Linear model(2, 1);
  outback::to_backend(*model);
  const at::Tensor x = outback::to_backend(at::rand({64, 2}));
  const at::Tensor y = x.sum(/*dim=*/1, /*keepdim=*/true);

  torch::optim::SGD optimizer(model->parameters(), /*lr=*/0.5);
  for (int step = 0; step < 200; ++step) {
    optimizer.zero_grad();
    (model->forward(x) - y).square().mean().backward();
    optimizer.step();
  }
  const float loss = (model->forward(x) - y).square().mean().item<float>();
  std::cout << "learned on " << model->weight.device() << ": " << (loss < 1e-4 ? "yes" : "no")
            << '\n';
  return outback::is_backend(model->weight) && loss < 1e-4 ? 0 : 1;
}
