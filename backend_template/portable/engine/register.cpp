// Registers all portable kernels. The library that packs portable modules includes this file in
// its sources (cmake/OutbackKernels.cmake): a backend without them has none of this code.
#include "backend_template/ops/registrations.h"
#include "backend_template/portable/engine/operators.h"

namespace outback::portable {
namespace {

void add_all(ops::registrar& to) {
  add_advanced_index(to);
  add_arrangements(to);
  add_attention(to);
  add_cat(to);
  add_copies(to);
  add_dropout(to);
  add_elementwise(to);
  add_fake_quantization(to);
  add_gates(to);
  add_grad_scaler(to);
  add_index_moves(to);
  add_index_sums(to);
  add_loops(to);
  add_losses(to);
  add_matmul(to);
  add_nll_loss(to);
  add_norms(to);
  add_optimizers(to);
  add_random(to);
  add_ranges(to);
  add_reductions(to);
  add_softmax(to);
}

// While the library is loaded, before it registers the backend.
[[maybe_unused]] const bool is_set = [] {
  ops::set_portable_operators(&add_all);
  return true;
}();

}  // namespace
}  // namespace outback::portable
