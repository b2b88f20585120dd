// The operators that are written for this device: what makes, views, moves and reads its memory,
// and what has no kernel on the CPU under the same name.
#pragma once

namespace outback::ops {

class registrar;

void register_factories(registrar& to);
void register_views(registrar& to);
void register_tensor_data(registrar& to);
void register_resize(registrar& to);
void register_copies(registrar& to);
void register_lazy_clone(registrar& to);
void register_fills(registrar& to);
void register_scalars(registrar& to);
void register_streams(registrar& to);
void register_batch_norm(registrar& to);
void register_convolutions(registrar& to);
void register_recurrent_cells(registrar& to);
void register_attention(registrar& to);
void register_dropout(registrar& to);
void register_sparse(registrar& to);

}  // namespace outback::ops
