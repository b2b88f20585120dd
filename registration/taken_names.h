// The names that a device cannot have, since they mean something already. One list for the
// registration, for the command `outback` and for torch_outback.load; the latter two read this file
// as text (generators/cli/torch_outback/names.py), so keep its form.
//
// The list is for all releases of torch. tools/dev/taken_names.py adds the names that another
// release has taken, and a test finds missing ones. The groups that do not begin with "torch" are
// written by hand.
#pragma once

#include <string_view>

namespace outback::registration {

/// A group of names that are taken for one reason. In `why`, * stands for the name. `names` has a
/// blank before and behind each name, so that " name " finds whole names only.
struct taken_names {
  std::string_view why;
  std::string_view names;
};

// clang-format off
inline constexpr taken_names taken[] = {
    {"PyTorch has a device of that name already",
     " accelerator cpu cuda fpga gpu hip hpu ideep ipu lazy maia meta metal mkldnn mps mtia "
     " opencl opengl privateuse privateuseone ve vulkan xla xpu "},
    {"Python has a keyword of that name: nobody could write tensor.*()",
     " and as assert async await break class continue def del elif else except finally for from "
     " global if import in is lambda nonlocal not or pass raise return try while with yield "},
    {"C++ has a keyword of that name: no namespace and no class of a backend's could have it",
     " alignas alignof and_eq asm auto bitand bitor bool case catch char co_await co_return "
     " co_yield compl concept const const_cast consteval constexpr constinit decltype default "
     " delete do double dynamic_cast enum explicit export extern false float friend goto inline "
     " int long mutable namespace new noexcept not_eq operator or_eq private protected public "
     " register reinterpret_cast requires short signed sizeof static static_assert static_cast "
     " struct switch template this thread_local throw true typedef typeid typename union "
     " unsigned using virtual void volatile wchar_t xor xor_eq "},
    {"C has a macro of that name, and a library of operators could not have it",
     " errno "},
    {"PyTorch has torch.ops.* already, where operators of a backend's own would be",
     " higher_order import_module load_library loaded_libraries "},
    {"modules of torch.nn have a parameter, a buffer or a module *, which a method would hide",
     " activation base bias bias_hh bias_ih bias_k bias_v decoder encoder head in_proj_bias "
     " in_proj_weight k_proj_weight layers linear multihead_attn num_batches_tracked original "
     " out_proj parametrizations pos_weight q_proj_weight running_mean running_var self_attn "
     " tail v_proj_weight weight weight_hh weight_ih "},
    {"torch.*() is there already",
     " abs absolute acos acosh add addbmm addcdiv addcmul addmm addmv addr adjoint "
     " affine_grid_generator alias_copy all allclose alpha_dropout amax amin aminmax angle any "
     " arange arccos arccosh arcsin arcsinh arctan arctanh argmax argmin argsort argwhere "
     " as_strided as_strided_copy as_strided_scatter as_tensor asarray asin asinh atan atanh "
     " autocast_decrement_nesting autocast_increment_nesting baddbmm bartlett_window batch_norm "
     " batch_norm_backward_elemt batch_norm_backward_reduce batch_norm_elemt "
     " batch_norm_gather_stats batch_norm_stats batch_norm_update_stats bernoulli bilinear "
     " binary_cross_entropy_with_logits bincount binomial bitwise_and bitwise_left_shift "
     " bitwise_not bitwise_or bitwise_right_shift bitwise_xor blackman_window block_diag bmm "
     " broadcast_shapes broadcast_tensors broadcast_to bucketize can_cast cartesian_prod cat "
     " ccol_indices_copy cdist ceil celu chain_matmul channel_shuffle cholesky cholesky_inverse "
     " cholesky_solve choose_qparams_optimized chunk clamp clamp_max clamp_min classproperty "
     " clear_autocast_cache clip clone col_indices_copy column_stack combinations compile "
     " complex concat concatenate cond conj conj_physical constant_pad_nd conv_tbc convolution "
     " copysign corrcoef cos cosh cosine_embedding_loss cosine_similarity count_nonzero cov "
     " cross crow_indices_copy ctc_loss cudnn_affine_grid_generator cudnn_batch_norm "
     " cudnn_convolution cudnn_convolution_add_relu cudnn_convolution_relu "
     " cudnn_convolution_transpose cudnn_grid_sampler cudnn_is_acceptable cummax cummin cumprod "
     " cumsum cumulative_trapezoid dequantize det detach detach_copy diag diag_embed diagflat "
     " diagonal diagonal_copy diagonal_scatter diff digamma dist div divide dot dropout dsmm "
     " dsplit dstack eig einsum embedding embedding_bag empty empty_like empty_permuted "
     " empty_quantized empty_strided eq equal erf erfc erfinv exp expand_copy eye "
     " fake_quantize_per_channel_affine fake_quantize_per_tensor_affine "
     " fbgemm_linear_quantize_weight fbgemm_pack_quantized_matrix feature_alpha_dropout "
     " feature_dropout fill fix flatten flip fliplr flipud float_power floor floor_divide fmax "
     " fmin fmod fork frac frexp frobenius_norm from_dlpack from_file from_numpy frombuffer full "
     " full_like fused_moving_avg_obs_fake_quant gather gcd ge geqrf ger get_autocast_cpu_dtype "
     " get_autocast_dtype get_autocast_gpu_dtype get_autocast_ipu_dtype get_autocast_xla_dtype "
     " get_default_device get_default_dtype get_deterministic_debug_mode get_device "
     " get_device_module get_file_path get_num_interop_threads get_num_threads get_rng_state "
     " gradient greater greater_equal grid_sampler group_norm gru gru_cell gt hamming_window "
     " hann_window hardshrink hash_tensor heaviside hinge_embedding_loss histc histogram "
     " histogramdd hsmm hsplit hspmm hstack hypot igamma igammac imag import_ir_module "
     " import_ir_module_from_buffer index_add index_copy index_fill index_put index_reduce "
     " index_select indices_copy init_num_threads initial_seed inner instance_norm int_repr "
     " inverse is_anomaly_check_nan_enabled is_anomaly_enabled is_autocast_cache_enabled "
     " is_autocast_cpu_enabled is_autocast_enabled is_autocast_ipu_enabled "
     " is_autocast_xla_enabled is_complex is_conj is_distributed is_floating_point "
     " is_grad_enabled is_inference is_inference_mode_enabled is_neg is_nonzero is_same_size "
     " is_signed is_storage is_tensor is_vulkan_available is_warn_always_enabled isclose "
     " isfinite isin isinf isnan isneginf isposinf isreal istft kaiser_window kl_div kron "
     " kthvalue layer_norm lcm ldexp le lerp less less_equal lgamma linspace load lobpcg log "
     " log_softmax logaddexp logcumsumexp logdet logical_and logical_not logical_or logical_xor "
     " logit logspace logsumexp lstm lstm_cell lstsq lt lu lu_solve lu_unpack manual_seed "
     " margin_ranking_loss masked_fill masked_scatter masked_select matmul matrix_exp "
     " matrix_power matrix_rank max maximum mean median merge_type_from_type_comment meshgrid "
     " min minimum miopen_batch_norm miopen_convolution miopen_convolution_add_relu "
     " miopen_convolution_relu miopen_convolution_transpose miopen_ctc_loss "
     " miopen_depthwise_convolution miopen_rnn mkldnn_convolution mkldnn_linear_backward_weights "
     " mkldnn_rnn_layer mm mode moveaxis movedim msort mul multinomial multiply mv mvlgamma "
     " nan_to_num nanmean nanmedian nanquantile nansum narrow narrow_copy native_batch_norm "
     " native_channel_shuffle native_dropout native_group_norm native_layer_norm native_norm ne "
     " neg negative nextafter nonzero nonzero_static norm norm_except_dim normal not_equal "
     " nuclear_norm numel ones ones_like orgqr ormqr outer pairwise_distance parse_ir "
     " parse_schema parse_type_comment pca_lowrank pdist permute permute_copy pinverse "
     " pixel_shuffle pixel_unshuffle poisson poisson_nll_loss polar polygamma positive pow prelu "
     " prod promote_types put q_per_channel_axis q_per_channel_scales q_per_channel_zero_points "
     " q_scale q_zero_point qr quantile quantize_per_channel quantize_per_tensor "
     " quantize_per_tensor_dynamic quantized_batch_norm quantized_gru quantized_gru_cell "
     " quantized_lstm quantized_lstm_cell quantized_rnn_relu_cell quantized_rnn_tanh_cell rand "
     " rand_like randint randint_like randn randn_like randperm range ravel real reciprocal relu "
     " remainder renorm repeat_interleave reshape resolve_conj resolve_neg result_type rms_norm "
     " rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell roll round row_indices_copy row_stack rrelu "
     " rsqrt rsub saddmm save scalar_tensor scatter scatter_add scatter_reduce searchsorted seed "
     " segment_reduce select select_copy select_scatter selu set_anomaly_enabled "
     " set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled "
     " set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype set_autocast_ipu_dtype "
     " set_autocast_ipu_enabled set_autocast_xla_dtype set_autocast_xla_enabled "
     " set_default_device set_default_dtype set_default_tensor_type set_deterministic_debug_mode "
     " set_flush_denormal set_num_interop_threads set_num_threads set_printoptions set_rng_state "
     " set_warn_always sgn sigmoid sign signbit sin sinc sinh slice_copy slice_inverse "
     " slice_scatter slogdet smm softmax solve sort sparse_bsc_tensor sparse_bsr_tensor "
     " sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor split "
     " split_copy split_with_sizes split_with_sizes_copy spmm sqrt square squeeze squeeze_copy "
     " sspaddmm stack std std_mean stft sub subtract sum svd svd_lowrank swapaxes swapdims "
     " sym_constrain_range sym_constrain_range_for_size sym_float sym_fresh_size sym_int sym_ite "
     " sym_max sym_min sym_not sym_sqrt sym_sum symeig t t_copy take take_along_dim tan tanh "
     " tensor tensor_split tensordot thread_safe_generator threshold tile to_dlpack topk trace "
     " transpose transpose_copy trapezoid trapz triangular_solve tril tril_indices "
     " triplet_margin_loss triu triu_indices true_divide trunc unbind unbind_copy unflatten "
     " unfold_copy unify_type_list unique unique_consecutive unravel_index unsafe_chunk "
     " unsafe_split unsafe_split_with_sizes unsqueeze unsqueeze_copy "
     " use_deterministic_algorithms values_copy vander var var_mean vdot view_as_complex "
     " view_as_complex_copy view_as_real view_as_real_copy view_copy vmap vsplit vstack wait "
     " where while_loop xlogy zeros zeros_like "},
    {"torch.* is there already",
     " amp ao autocast autograd backends bit builtins cdouble cfloat chalf channels_last classes "
     " compiler contiguous_format contrib cpp ctypes default_generator device distributed "
     " distributions dtype e enable_grad fft finfo func functional functools futures fx glob "
     " half has_lapack has_mkl has_openmp has_spectral hub iinfo importlib inf inference_mode "
     " inspect jagged jit layout legacy_contiguous_format library linalg masked math "
     " memory_format monitor multiprocessing nan nativert nested newaxis nn no_grad numa onnx "
     " ops optim os overrides package per_channel_affine per_channel_affine_float_qparams "
     " per_channel_symmetric per_tensor_affine per_tensor_symmetric pi platform preserve_format "
     " profiler qscheme quantization quasirandom random return_types serialization "
     " set_grad_enabled signal sparse sparse_bsc sparse_bsr sparse_coo sparse_csc sparse_csr "
     " special storage strided sys testing textwrap threading torch torch_version types utils "
     " version warnings windows "},
    {"torch.Tensor.*() is there already",
     " as_subclass backward byte ccol_indices coalesce col_indices const_data_ptr contiguous "
     " crow_indices data_ptr dense_dim dim dim_order element_size expand expand_as index indices "
     " is_coalesced is_contiguous is_pinned is_set_to is_shared item module_load ndimension "
     " nelement new_empty new_empty_strided new_full new_ones new_tensor new_zeros numpy "
     " pin_memory record_stream register_hook reinforce repeat reshape_as resize resize_as "
     " retain_grad row_indices size sparse_dim sparse_mask storage_offset storage_type stride "
     " sum_to_size to to_dense to_mkldnn to_padded_tensor to_sparse to_sparse_bsc to_sparse_bsr "
     " to_sparse_coo to_sparse_csc to_sparse_csr tolist type type_as unfold untyped_storage "
     " values view view_as "},
    {"torch.Tensor.* is there already",
     " data grad grad_dtype grad_fn is_cpu is_cuda is_ipu is_leaf is_maia is_meta is_mkldnn "
     " is_mps is_mtia is_nested is_quantized is_sparse is_sparse_csr is_vulkan is_xla is_xpu "
     " itemsize name nbytes ndim output_nr requires_grad retains_grad shape "},
    {"torch.nn.Module.*() is there already",
     " add_module apply buffers children eval extra_repr forward get_buffer get_extra_state "
     " get_parameter get_submodule load_state_dict modules named_buffers named_children "
     " named_modules named_parameters parameters register_backward_hook register_buffer "
     " register_forward_hook register_forward_pre_hook register_full_backward_hook "
     " register_full_backward_pre_hook register_module register_parameter "
     " register_state_dict_post_hook register_state_dict_pre_hook set_extra_state set_submodule "
     " share_memory state_dict to_empty train zero_grad "},
    {"torch.nn.Module.* is there already",
     " call_super_init dump_patches training "},
    {"torch.nn.utils.rnn.PackedSequence.* is there already",
     " batch_sizes sorted_indices unsorted_indices "},
    {"torch.nn.utils.rnn.PackedSequence.*() is there already",
     " count "},
    {"torch.UntypedStorage.*() is there already",
     " byteswap complex_double complex_float from_buffer resizable untyped "},
    {"torch.UntypedStorage.* is there already",
     " filename is_hpu "},
    {"torch.TypedStorage.*() is there already",
     " pickle_storage_type "},
    {"torch.Tensor has \"is_*\" already",
     " coalesced floating_point inference leaf pinned quantized same_size set_to shared "},
};
// clang-format on

}  // namespace outback::registration
