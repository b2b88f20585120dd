// The operators that Outback implements itself: those that make, view, move and read the device's
// memory, and those that the CPU has no kernel for under the same name. One source file each;
// register.cpp calls every function below once, before the boxed kernels of in_place/ fill the
// rest.
#pragma once

namespace outback::ops {

class registrar;

void register_factories(registrar& to);         // empty, empty_strided, _efficientzerotensor
void register_views(registrar& to);             // as_strided, view, unfold, ...
void register_tensor_data(registrar& to);       // tensor.data = other
void register_resize(registrar& to);            // resize_, set_
void register_copies(registrar& to);            // copy_, _copy_from, _copy_from_and_resize
void register_lazy_clone(registrar& to);        // _lazy_clone
void register_fills(registrar& to);             // fill_, zero_
void register_scalars(registrar& to);           // item()
void register_streams(registrar& to);           // record_stream
void register_batch_norm(registrar& to);        // native_batch_norm
void register_convolutions(registrar& to);      // convolution_overrideable and its backward
void register_recurrent_cells(registrar& to);   // the fused cells of LSTM and GRU
void register_recurrent_layers(registrar& to);  // LSTM, GRU and RNN over padded sequences
void register_attention(registrar& to);         // the choice of scaled_dot_product_attention
void register_dropout(registrar& to);           // native_dropout
void register_sparse(registrar& to);            // what a sparse tensor consists of

}  // namespace outback::ops
