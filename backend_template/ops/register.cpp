// Decides who serves an operator. The registrar never replaces a kernel: a vendor's, which is there
// already, stays, and of two rows below the upper one wins.
#include <c10/core/DispatchKey.h>

#include <array>

#include "backend_template/core/kernels/portable_choice.h"
#include "backend_template/ops/in_place/boxed_kernel.h"
#include "backend_template/ops/next_provider.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {
namespace {

// Whose a kernel is, for the operator report: written for the device, or another device type's, the
// CPU's or a twin's.
constexpr const char* own = registrar::registered_as_own;
constexpr const char* lent = registrar::registered_by;
constexpr const char* portable = registrar::registered_as_portable;

void (*add_portable_operators)(registrar&) = nullptr;

void register_portable_operators(registrar& to) {
  if (add_portable_operators == nullptr || !core::allows_portable_kernels()) return;
  const operator_names excluded = portable_excluded();
  to.leave_out(&excluded);
  add_portable_operators(to);
  to.leave_out(nullptr);
}

struct provider_row {
  const char* whose;
  void (*add)(registrar&);
};

constexpr auto providers = std::to_array<provider_row>({
    // Those of a backend that packs them, before all that they decline calls to.
    {portable, &register_portable_operators},

    // Before all others: until then every out= kernel for this device is the vendor's or portable.
    {lent, &register_choosy_operators},  // addr_, conj_physical_, ldexp, mode

    // tensors/: makes, views and changes tensors, and computes nothing.
    {own, &register_factories},   // empty, empty_strided, _efficientzerotensor
    {own, &register_fields},      // views, record_stream, tensor.data = other, ...
    {own, &register_resize},      // resize_, set_
    {own, &register_lazy_clone},  // _lazy_clone

    // own/: what is composed for the device, and what the CPU has no kernel for under that name.
    {own, &register_copies},             // copy_, _copy_from, _copy_from_and_resize
    {own, &register_fills},              // fill_, zero_
    {own, &register_histogram},          // histc of integers
    {own, &register_scalars},            // item()
    {own, &register_sparse_copies},      // copy_ of sparse tensors between devices
    {own, &register_sparse_indices},     // flatten_indices_stub
    {own, &register_convolutions},       // the CPU's kernels of convolution_overrideable
    {own, &register_sync_batch_norm},    // batch_norm_stats and its relatives
    {own, &register_attention},          // the choice of scaled_dot_product_attention
    {own, &register_dropout},            // native_dropout
    {own, &register_masked_assignment},  // x[mask] = number
    {own, &register_device_numbers},     // cpu_tensor.fill_(number of the device)
    {own, &register_windows},            // kaiser_window

    // recurrent/ and cudnn/: as the CPU does it, or as the twin does.
    {own, &register_recurrent_cells},   // the fused cells of LSTM and GRU
    {own, &register_recurrent_layers},  // LSTM, GRU and RNN over padded sequences
    {own, &register_cudnn},             // grid_sampler, _batch_norm_impl_index
    {own, &register_without_float64},   // pinv, matrix_rank, _batch_norm_impl_index, renorm's slope

    // on_pointers/: torch's CPU kernels on the device's tensors as they are, without an alias.
    {lent, &register_choices},           // where, masked_fill_, gather, take, embedding, ...
    {lent, &register_elementwise},       // add, mul, relu, sigmoid, ... and their derivatives
    {lent, &register_fused_optimizers},  // _fused_adamw_ and its relatives
    {lent, &register_images},            // padding, pooling, shuffles of pixels, losses
    {lent, &register_joining},           // cat
    {lent, &register_matrices},          // mm, bmm, addmm, addmv, dot, triu
    {lent, &register_normalizations},    // softmax, layer and group norm
    {lent, &register_reductions},        // sum, mean, max, all, cumsum, topk, trace, ...

    // in_place/: kernels of the CPU's or of a twin's, on aliases.
    {lent, &register_batch_norm},        // native_batch_norm
    {lent, &register_common_operators},  // those that models call most often, unboxed
    {lent, &register_boxed_kernels},     // all others
});

}  // namespace

void set_portable_operators(void (*add)(registrar&)) noexcept {
  add_portable_operators = add;
}

void register_operators(operator_names excluded) {
  // Leaked, since kernels may run until the process ends. Static, so that leak checkers find them
  // reachable.
  static const auto& kept = *new operator_names(std::move(excluded));
  static auto& to = *new registrar(kept);
  for (const provider_row& row : providers) {
    to.set_text(row.whose);
    row.add(to);
  }
  to.add_fallback(c10::DispatchKey::PrivateUse1, boxed_fallback(kept));
  register_next_providers(boxed_fallback(kept));
  register_autocast(to);
  register_recorder();
}

}  // namespace outback::ops
