// Registers the kernels for this backend's operators: a vendor's kernel, one of Outback's own, a
// CPU kernel in place, or a CPU kernel over copies serves each operator. Registration calls
// register_operators; register.cpp calls each of the other functions once.
#pragma once

#include "backend_template/ops/excluded_operators.h"

namespace outback::ops {

class registrar;

/// Registers kernels for the operators of ATen under PrivateUse1 and its keys for autocast, sparse,
/// quantized and nested tensors, and a boxed fallback for all other operators, custom ones
/// included. Leaves operators that torch composes of others for every device to torch, except for
/// those in in_place/choosy_operators.cpp.
///
/// If an operator has a kernel for the key already, the operator keeps it. An operator in
/// `excluded` gets no kernel here. If torch does not compose it of others either, a call throws
/// c10::NotImplementedError (Python: NotImplementedError).
///
/// Call it once, after core::install_runtime, with registration's lock held. Calls no slot. The
/// kernels stay registered until the process ends.
void register_operators(operator_names excluded);

// Each adds the kernels of one file. register.cpp has the order, and says what the kernels serve.

// portable/
/// Sets the function that adds the portable kernels: the library that has them (portable/engine)
/// calls it while it is loaded, before registration.
void set_portable_operators(void (*add)(registrar&)) noexcept;

// tensors/
void register_factories(registrar& to);
void register_fields(registrar& to);
void register_lazy_clone(registrar& to);
void register_resize(registrar& to);

// own/
void register_attention(registrar& to);
void register_convolutions(registrar& to);
void register_copies(registrar& to);
void register_device_numbers(registrar& to);
void register_dropout(registrar& to);
void register_fills(registrar& to);
void register_histogram(registrar& to);
void register_masked_assignment(registrar& to);
void register_scalars(registrar& to);
void register_sparse_copies(registrar& to);
void register_sparse_indices(registrar& to);
void register_sync_batch_norm(registrar& to);
void register_windows(registrar& to);
void register_without_float64(registrar& to);

// recurrent/ and cudnn/
void register_cudnn(registrar& to);
void register_recurrent_cells(registrar& to);
void register_recurrent_layers(registrar& to);

// on_pointers/
void register_choices(registrar& to);
void register_elementwise(registrar& to);
void register_fused_optimizers(registrar& to);
void register_images(registrar& to);
void register_joining(registrar& to);
void register_matrices(registrar& to);
void register_normalizations(registrar& to);
void register_reductions(registrar& to);

// in_place/; boxed_kernel.h has the kernels of all other operators.
void register_batch_norm(registrar& to);
void register_choosy_operators(registrar& to);
void register_common_operators(registrar& to);

/// Registers kernels for the dispatch key AutocastPrivateUse1, for torch's own lists of operators
/// on accelerators (ATen/autocast_mode.h, the macros AT_FORALL_...), and a fallthrough for all
/// other operators. Without the fallthrough an operator in no list would fail under torch.autocast.
///
/// If an operator has an autocast kernel already, the operator keeps it. The backend's excluded
/// operators get these kernels too, since an autocast kernel only casts and calls the operator
/// again.
void register_autocast(registrar& to);

/// Lets core's graphs prepare the recorder (recording/recorder.cpp) when a capture begins. The
/// recorder is a kernel at core::recorder_key, a dispatch key that a thread's operators pass while
/// the thread captures. It records the operators that CPU kernels serve. This function calls no
/// slot and registers no kernel.
void register_recorder();

}  // namespace outback::ops
