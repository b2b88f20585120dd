// Who serves an operator on this backend: a vendor's kernel, one of Outback's own (own/), a CPU
// kernel in place (in_place/), or a CPU kernel over copies (copies/). The registration calls the
// first function; register.cpp calls each of the others once.
#pragma once

#include "backend_template/ops/excluded_operators.h"

namespace outback::ops {

class registrar;

/// Registers kernels for the operators of ATen under PrivateUse1 and its autocast, sparse,
/// quantized and nested relatives, and a boxed fallback for all other operators, custom ones
/// included. Operators that torch composes of others for every device are left to torch, with the
/// exceptions that register.cpp names.
///
/// An operator that has a kernel for the key already keeps it, whoever wrote it. An operator in
/// `excluded` gets no kernel from here; if torch does not compose it of others either, a call of it
/// throws c10::NotImplementedError (Python: NotImplementedError).
///
/// To be called once, after core::install_runtime; the registration holds its lock meanwhile.
/// Calls no slot. The kernels stay registered until the process ends.
void register_operators(operator_names excluded);

// own/: the operators that Outback implements itself: those that make, view, move and read the
// device's memory, and those that the CPU has no kernel for under the same name.
void register_factories(registrar& to);          // empty, empty_strided, _efficientzerotensor
void register_fields(registrar& to);             // views, record_stream, tensor.data = other, ...
void register_resize(registrar& to);             // resize_, set_
void register_copies(registrar& to);             // copy_, _copy_from, _copy_from_and_resize
void register_lazy_clone(registrar& to);         // _lazy_clone
void register_fills(registrar& to);              // fill_, zero_
void register_histogram(registrar& to);          // histc of integers
void register_scalars(registrar& to);            // item()
void register_sparse_copies(registrar& to);      // copy_ of sparse tensors between devices
void register_sparse_indices();                  // flatten_indices_stub
void register_batch_norm(registrar& to);         // native_batch_norm
void register_convolutions(registrar& to);       // the CPU's kernels of convolution_overrideable
void register_sync_batch_norm(registrar& to);    // batch_norm_stats and its relatives
void register_recurrent_cells(registrar& to);    // the fused cells of LSTM and GRU
void register_recurrent_layers(registrar& to);   // LSTM, GRU and RNN over padded sequences
void register_cudnn(registrar& to);              // grid_sampler, cudnn_is_acceptable
void register_attention(registrar& to);          // the choice of scaled_dot_product_attention
void register_dropout(registrar& to);            // native_dropout
void register_masked_assignment(registrar& to);  // x[mask] = number
void register_device_numbers(registrar& to);     // cpu_tensor.fill_(number of the device)
void register_windows(registrar& to);            // kaiser_window

// on_pointers/: torch's CPU kernels that run on the device's tensors as they are, without
// an alias.
void register_choices(registrar& to);  // where, masked_fill_, gather, scatter, x[i], embedding, ...
void register_elementwise(registrar& to);  // add, mul, relu, sigmoid, ... and their derivatives
void register_fused_optimizers(registrar& to);  // _fused_adamw_ and its relatives
void register_images(registrar& to);            // padding, pooling, shuffles of pixels, losses
void register_joining(registrar& to);           // cat
void register_matrices(registrar& to);          // mm, bmm, addmm, addmv, dot, triu
void register_normalizations(registrar& to);    // softmax, layer and group norm
void register_reductions(registrar& to);        // sum, mean, max, all, cumsum, topk, trace, ...

// in_place/: unboxed kernels for the operators that models call most often. Boxed kernels
// (in_place/boxed_kernel.h) serve all other operators.
void register_common_operators(registrar& to);

/// Registers kernels for the dispatch key AutocastPrivateUse1, by torch's own lists of operators
/// for accelerators (ATen/autocast_mode.h, the macros AT_FORALL_...), and a fallthrough for every
/// other operator. Without the fallthrough an operator that is in no list would fail under
/// torch.autocast.
///
/// An operator that already has an autocast kernel keeps it. The backend's excluded operators get
/// these kernels too: an autocast kernel only casts, and calls the operator again.
void register_autocast(registrar& to);

/// Lets core's graphs prepare the recorder (recording/recorder.cpp) when a capture begins: a kernel
/// at a dispatch key of its own, core::recorder_key, which the operators of a thread pass while
/// that thread captures. It records those that CPU kernels serve. Calls no slot and registers no
/// kernel.
void register_recorder();

}  // namespace outback::ops
