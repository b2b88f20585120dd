// Registers a backend and computes on it, as a C++ program would that embeds libtorch.
#include <ATen/ATen.h>
#include <outback/backend.h>

#include <iostream>

#include "backend_template/runtimes/null/null.h"

int main() {
  outback::register_backend({.name = "acme", .runtime = outback_null_runtime()});
  const at::Tensor ones = outback::to_backend(at::ones({2, 3}));
  std::cout << ones.device() << ' ' << (ones + ones).sum().item<float>() << '\n';
}
