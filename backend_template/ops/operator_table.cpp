#include "backend_template/ops/operator_table.h"

#include <algorithm>

namespace outback::ops {
namespace {

// CPU arguments are indices, which PyTorch documents as "on the CPU or on the device of self", and
// what is always on the CPU: the shapes of nested tensors, and packed weights, whose bytes are a
// pointer to an object. In place, a write that the schema does not say does no harm; over copies it
// would be lost. If oneDNN computes gelu, a transposed out= stays as it was. A loss that is
// recorded composed, by its out= variant, would resize its result to the input's sizes and back.
//
// clang-format off
constexpr auto rows = std::to_array<operator_row>({
    {.name = "aten::_copy_from", .overwritten = 1, .lent_with_bytes = true},
    {.name = "aten::_efficientzerotensor", .workless = true},
    {.name = "aten::_foreach_copy_", .overwritten = 0, .lent_with_bytes = true},
    {.name = "aten::_foreach_zero_", .overwritten = 0, .lent_with_bytes = true},
    {.name = "aten::_grid_sampler_2d_cpu_fallback", .composed_on_pointers = true},
    {.name = "aten::_grid_sampler_2d_cpu_fallback_backward", .composed_on_pointers = true},
    {.name = "aten::_has_compatible_shallow_copy_type", .workless = true},
    {.name = "aten::_index_put_impl_", .cpu_arguments = {"indices"}},
    {.name = "aten::_nested_from_padded", .cpu_arguments = {"cpu_nested_shape_example"}},
    {.name = "aten::_nested_tensor_size", .results_stay_on_cpu = true},
    {.name = "aten::_nested_tensor_storage_offsets", .results_stay_on_cpu = true},
    {.name = "aten::_nested_tensor_strides", .results_stay_on_cpu = true},
    {.name = "aten::_nested_view_from_buffer", .cpu_arguments = {"nested_size", "nested_strides", "offsets"}},
    {.name = "aten::_reshape_alias", .workless = true},
    {.name = "aten::_rowwise_prune", .composed_on_pointers = true},
    {.name = "aten::_saturate_weight_to_fp16", .also_written = {"weight"}, .composed_on_pointers = true},
    {.name = "aten::_sobol_engine_draw", .composed_on_pointers = true},
    {.name = "aten::_sobol_engine_ff_", .composed_on_pointers = true},
    {.name = "aten::_sobol_engine_initialize_state_", .composed_on_pointers = true},
    {.name = "aten::_sobol_engine_scramble_", .composed_on_pointers = true},
    {.name = "aten::_sparse_coo_tensor_with_dims", .moves_data = true},
    {.name = "aten::_sparse_coo_tensor_with_dims_and_tensors", .moves_data = true},
    {.name = "aten::_sparse_mm_reduce_impl", .asks_requires_grad = true},
    {.name = "aten::_thnn_fused_gru_cell", .workless = true},
    {.name = "aten::_thnn_fused_gru_cell_backward", .workless = true},
    {.name = "aten::_thnn_fused_lstm_cell", .workless = true},
    {.name = "aten::_thnn_fused_lstm_cell_backward_impl", .workless = true},
    {.name = "aten::_to_copy", .moves_data = true},
    {.name = "aten::_unsafe_index", .gathered = 0},
    {.name = "aten::as_strided", .workless = true},
    {.name = "aten::batch_norm_backward_elemt", .workless = true},
    {.name = "aten::batch_norm_backward_reduce", .workless = true},
    {.name = "aten::batch_norm_elemt", .workless = true},
    {.name = "aten::batch_norm_gather_stats", .also_written = {"running_mean", "running_var"}, .workless = true},
    {.name = "aten::batch_norm_gather_stats_with_counts", .also_written = {"running_mean", "running_var"}, .workless = true},
    {.name = "aten::batch_norm_stats", .workless = true},
    {.name = "aten::batch_norm_update_stats", .also_written = {"running_mean", "running_var"}},
    {.name = "aten::bernoulli_", .overwritten = 0},
    {.name = "aten::cauchy_", .overwritten = 0},
    {.name = "aten::choose_qparams_optimized", .composed_on_pointers = true},
    {.name = "aten::copy_", .overwritten = 0, .lent_with_bytes = true},
    {.name = "aten::cudnn_batch_norm", .also_written = {"running_mean", "running_var"}},
    {.name = "aten::cudnn_is_acceptable", .workless = true},
    {.name = "aten::embedding", .gathered = 0},
    {.name = "aten::empty", .workless = true},
    {.name = "aten::empty_strided", .workless = true},
    {.name = "aten::exponential_", .overwritten = 0},
    {.name = "aten::eye_", .overwritten = 0},
    {.name = "aten::fbgemm_linear_fp16_weight", .cpu_arguments = {"packed_weight"}, .composed_on_pointers = true},
    {.name = "aten::fbgemm_linear_fp16_weight_fp32_activation", .cpu_arguments = {"packed_weight"}, .composed_on_pointers = true},
    {.name = "aten::fbgemm_linear_int8_weight", .cpu_arguments = {"packed"}, .composed_on_pointers = true},
    {.name = "aten::fbgemm_linear_int8_weight_fp32_activation", .cpu_arguments = {"packed"}, .composed_on_pointers = true},
    {.name = "aten::fbgemm_linear_quantize_weight", .composed_on_pointers = true},
    {.name = "aten::fbgemm_pack_gemm_matrix_fp16", .results_stay_on_cpu = true, .composed_on_pointers = true},
    {.name = "aten::fbgemm_pack_quantized_matrix", .results_stay_on_cpu = true, .composed_on_pointers = true},
    {.name = "aten::fill_", .overwritten = 0},
    {.name = "aten::gather", .gathered = 0},
    {.name = "aten::gelu", .may_leave_out = true},
    {.name = "aten::geometric_", .overwritten = 0},
    {.name = "aten::grid_sampler", .workless = true},
    {.name = "aten::index", .gathered = 0, .cpu_arguments = {"indices"}},
    {.name = "aten::index_put_", .workless = true},
    {.name = "aten::index_select", .gathered = 0},
    {.name = "aten::is_set_to", .moves_data = true, .workless = true},
    {.name = "aten::log_normal_", .overwritten = 0},
    {.name = "aten::miopen_batch_norm", .also_written = {"running_mean", "running_var"}},
    {.name = "aten::mse_loss", .warns_of_result = true},
    {.name = "aten::native_batch_norm", .also_written = {"running_mean", "running_var"}},
    {.name = "aten::native_dropout", .workless = true},
    {.name = "aten::normal_", .overwritten = 0},
    {.name = "aten::random_", .overwritten = 0},
    {.name = "aten::record_stream", .workless = true},
    {.name = "aten::resize_", .workless = true},
    {.name = "aten::select_copy", .gathered = 0},
    {.name = "aten::set_", .workless = true},
    {.name = "aten::slice_copy", .gathered = 0},
    {.name = "aten::smooth_l1_loss", .warns_of_result = true},
    {.name = "aten::take", .gathered = 0},
    {.name = "aten::unfold", .workless = true},
    {.name = "aten::uniform_", .overwritten = 0},
    {.name = "aten::view", .workless = true},
    {.name = "aten::view_as_complex", .workless = true},
    {.name = "aten::view_as_real", .workless = true},
    {.name = "aten::zero_", .overwritten = 0},
});
// clang-format on

constexpr bool comes_before(const operator_row& a, const operator_row& b) {
  return a.name < b.name;
}
static_assert(std::is_sorted(rows.begin(), rows.end(), comes_before));

}  // namespace

const operator_row& row_of(std::string_view name) noexcept {
  static constexpr operator_row none;
  const auto* const found =
      std::lower_bound(rows.begin(), rows.end(), operator_row{.name = name}, comes_before);
  return found != rows.end() && found->name == name ? *found : none;
}

}  // namespace outback::ops
