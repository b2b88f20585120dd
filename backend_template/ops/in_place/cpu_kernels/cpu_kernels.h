// torch's CPU kernels that run on the device's tensors as they are, without an alias on the CPU.
#pragma once

namespace outback::ops {

class registrar;

void register_elementwise(registrar& to);
void register_index_select(registrar& to);
void register_joining(registrar& to);
void register_layer_norm(registrar& to);
void register_matrices(registrar& to);
void register_softmax(registrar& to);

}  // namespace outback::ops
