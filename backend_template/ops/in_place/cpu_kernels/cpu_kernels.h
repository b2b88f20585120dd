// Fast paths in place: torch's CPU kernels that run on the device's tensors as they are, without an
// alias. register.cpp calls each function once, before the slower kernels for the same operators.
#pragma once

namespace outback::ops {

class registrar;

void register_choices(registrar& to);      // where, masked_fill_, abs, trace, searchsorted, ...
void register_elementwise(registrar& to);  // add, mul, relu, sigmoid, ... and their derivatives
void register_fused_optimizers(registrar& to);  // _fused_adamw_ and its relatives
void register_index_select(registrar& to);      // also under embedding; gather and x[i]
void register_joining(registrar& to);           // cat
void register_layer_norm(registrar& to);        // native_layer_norm
void register_matrices(registrar& to);          // mm, bmm, addmm, dot
void register_reductions(registrar& to);        // sum, mean, amax, amin, linalg_vector_norm
void register_softmax(registrar& to);           // _softmax, _log_softmax and their derivatives

}  // namespace outback::ops
