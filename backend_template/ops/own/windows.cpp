// torch.kaiser_window, which is composed of operators and of one table of kernels by device type.
#include <ATen/TensorIterator.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/UnaryOps.h>

#include "backend_template/ops/in_place/kernel_call.h"
#include "backend_template/ops/on_pointers/stubs.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {
namespace {

// Makes the window of the numbers of its elements.
void kaiser_window(at::TensorIteratorBase& elements, const int64_t length, const double beta) {
  kernel_call call;
  at::Tensor window = call.lend(elements.tensor(0), access::write);
  const at::Tensor numbers = call.lend(elements.tensor(1), access::write);  // may be the same
  call.begin();
  call.run({"aten::kaiser_window"}, [&] {
    at::TensorIterator there = at::TensorIterator::unary_op(window, numbers);
    at::native::kaiser_window_stub(call.target().type, there, length, beta);
  });
  call.finish();
}

}  // namespace

void register_windows(registrar& /*to*/) {
  fill_stub<at::native::kaiser_window_stub>(&kaiser_window);
}

}  // namespace outback::ops
