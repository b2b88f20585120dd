// The portable kernels of operators, by file of operators/. register.cpp calls each once.
#pragma once

namespace outback::ops {
class registrar;
}  // namespace outback::ops

namespace outback::portable {

void add_advanced_index(ops::registrar& to);
void add_arrangements(ops::registrar& to);
void add_attention(ops::registrar& to);
void add_cat(ops::registrar& to);
void add_copies(ops::registrar& to);
void add_dropout(ops::registrar& to);
void add_elementwise(ops::registrar& to);
void add_fake_quantization(ops::registrar& to);
void add_gates(ops::registrar& to);
void add_grad_scaler(ops::registrar& to);
void add_index_moves(ops::registrar& to);
void add_index_sums(ops::registrar& to);
void add_loops(ops::registrar& to);
void add_losses(ops::registrar& to);
void add_matmul(ops::registrar& to);
void add_nll_loss(ops::registrar& to);
void add_norms(ops::registrar& to);
void add_optimizers(ops::registrar& to);
void add_random(ops::registrar& to);
void add_ranges(ops::registrar& to);
void add_reductions(ops::registrar& to);
void add_softmax(ops::registrar& to);

}  // namespace outback::portable
