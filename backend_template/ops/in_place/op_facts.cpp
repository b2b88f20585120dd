#include "backend_template/ops/in_place/op_facts.h"

#include <ATen/core/enum_tag.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/jit_type.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <type_traits>

#include "backend_template/ops/in_place/refused_scalars.h"

namespace outback::ops {
namespace {

struct named_argument {
  std::string_view op;
  std::string_view argument;
  bool operator==(const named_argument&) const = default;
};

// Arguments that the CPU kernel writes although the schema does not say so. In place that does no
// harm; over copies the write would be lost.
constexpr std::array<named_argument, 7> unannotated_writes{{
    {"aten::native_batch_norm", "running_mean"},
    {"aten::native_batch_norm", "running_var"},
    {"aten::batch_norm_update_stats", "running_mean"},
    {"aten::batch_norm_update_stats", "running_var"},
    {"aten::batch_norm_gather_stats_with_counts", "running_mean"},
    {"aten::batch_norm_gather_stats_with_counts", "running_var"},
    {"aten::_saturate_weight_to_fp16", "weight"},
}};

// Indices, which PyTorch documents as "on the CPU or on the device of self", and what is always on
// the CPU: the shapes of nested tensors, and packed weights, whose bytes are a pointer to an
// object.
constexpr std::array<named_argument, 10> cpu_arguments{{
    {"aten::index", "indices"},
    {"aten::_index_put_impl_", "indices"},
    {"aten::_nested_view_from_buffer", "nested_size"},
    {"aten::_nested_view_from_buffer", "nested_strides"},
    {"aten::_nested_view_from_buffer", "offsets"},
    {"aten::_nested_from_padded", "cpu_nested_shape_example"},
    {"aten::fbgemm_linear_fp16_weight", "packed_weight"},
    {"aten::fbgemm_linear_fp16_weight_fp32_activation", "packed_weight"},
    {"aten::fbgemm_linear_int8_weight", "packed"},
    {"aten::fbgemm_linear_int8_weight_fp32_activation", "packed"},
}};
constexpr std::array<std::string_view, 5> cpu_results{
    "aten::_nested_tensor_size", "aten::_nested_tensor_strides",
    "aten::_nested_tensor_storage_offsets", "aten::fbgemm_pack_gemm_matrix_fp16",
    "aten::fbgemm_pack_quantized_matrix"};

// Torch has one kernel of them, for every device, which reads and writes memory by pointers.
constexpr std::array<std::string_view, 16> composed_on_pointers{
    "aten::_grid_sampler_2d_cpu_fallback",
    "aten::_grid_sampler_2d_cpu_fallback_backward",
    "aten::_rowwise_prune",
    "aten::_saturate_weight_to_fp16",
    "aten::_sobol_engine_draw",
    "aten::_sobol_engine_ff_",
    "aten::_sobol_engine_initialize_state_",
    "aten::_sobol_engine_scramble_",
    "aten::choose_qparams_optimized",
    "aten::fbgemm_linear_fp16_weight",
    "aten::fbgemm_linear_fp16_weight_fp32_activation",
    "aten::fbgemm_linear_int8_weight",
    "aten::fbgemm_linear_int8_weight_fp32_activation",
    "aten::fbgemm_linear_quantize_weight",
    "aten::fbgemm_pack_gemm_matrix_fp16",
    "aten::fbgemm_pack_quantized_matrix"};

// Operators that overwrite the tensor that they work on in place. An out= argument is known to be
// overwritten by its schema.
constexpr std::array<std::string_view, 11> overwriting_operators{
    "aten::bernoulli_", "aten::cauchy_",    "aten::exponential_", "aten::eye_",
    "aten::fill_",      "aten::geometric_", "aten::log_normal_",  "aten::normal_",
    "aten::random_",    "aten::uniform_",   "aten::zero_"};

// An exception: the CPU's kernel does not always fill its out= argument. If oneDNN computes it, a
// transposed out= stays as it was.
constexpr std::string_view unreliable_writer = "aten::gelu";

// Operators that compute nothing, so the fallback mode does not judge them.
constexpr std::array<std::string_view, 4> data_movers{
    "aten::_to_copy", "aten::_sparse_coo_tensor_with_dims",
    "aten::_sparse_coo_tensor_with_dims_and_tensors", "aten::is_set_to"};

// Its kernel asks which arguments require a gradient, to know what the backward pass will need.
constexpr std::string_view requires_grad_reader = "aten::_sparse_mm_reduce_impl";

template <class Entry, size_t N>
bool contains(const std::array<Entry, N>& table, const std::type_identity_t<Entry>& wanted) {
  return std::find(table.begin(), table.end(), wanted) != table.end();
}

// The type inside any number of Optional and List.
const c10::Type& element_of(const c10::Argument& argument) {
  const c10::Type* type = argument.type().get();
  for (;;) {
    if (const auto* optional = type->castRaw<c10::OptionalType>()) {
      type = optional->getElementType().get();
    } else if (const auto* list = type->castRaw<c10::ListType>()) {
      type = list->getElementType().get();
    } else {
      return *type;
    }
  }
}

}  // namespace

bool is_composed_on_pointers(const c10::OperatorHandle& op) {
  return contains(composed_on_pointers, op.operator_name().name) &&
         !op.hasKernelForDispatchKey(c10::DispatchKey::CPU);
}

op_facts facts_of(const c10::OperatorHandle& op) {
  const c10::FunctionSchema& schema = op.schema();
  const auto& arguments = schema.arguments();
  TORCH_INTERNAL_ASSERT(arguments.size() <= 64, schema);
  op_facts facts;
  if (!contains(data_movers, schema.name())) {
    facts.judged_as = operator_text{schema.name().c_str(), schema.overload_name().c_str()};
  }
  const bool overwrites = contains(overwriting_operators, schema.name());
  const bool fills_results = schema.name() != unreliable_writer;
  facts.arguments = static_cast<uint32_t>(arguments.size());
  facts.returns = static_cast<uint32_t>(schema.returns().size());
  facts.results_stay_on_cpu = contains(cpu_results, schema.name());
  const std::string_view name = schema.name();
  facts.changes_lists = name.starts_with("aten::_foreach_") && name.ends_with('_');
  facts.tells_host =
      op.hasTag(at::Tag::dynamic_output_shape) || op.hasTag(at::Tag::data_dependent_output);
  facts.asks_requires_grad = schema.name() == requires_grad_reader;
  facts.on_cpu_alone = is_composed_on_pointers(op);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const c10::Argument& argument = arguments[i];
    const uint64_t bit = uint64_t{1} << i;
    switch (element_of(argument).kind()) {
      case c10::TypeKind::TensorType:
      case c10::TypeKind::StorageType:
      case c10::TypeKind::DeviceObjType:
      case c10::TypeKind::AnyType:
        facts.handled |= bit;
        break;
      case c10::TypeKind::GeneratorType:
        facts.generators |= bit;
        break;
      default:
        break;
    }
    const c10::AliasInfo* alias = argument.alias_info();
    if ((alias != nullptr && alias->isWrite()) ||
        contains(unannotated_writes, {schema.name(), argument.name()})) {
      facts.written |= bit;
      if (overwrites || (argument.is_out() && fills_results)) facts.overwritten |= bit;
    }
    if (contains(cpu_arguments, {schema.name(), argument.name()})) facts.cpu_allowed |= bit;
    // What the operator writes takes no CPU tensor in any case.
    if ((facts.written & bit) == 0 &&
        refuses_scalar(schema.name(), schema.overload_name(), argument.name())) {
      facts.scalars_refused |= bit;
    }
  }
  return facts;
}

}  // namespace outback::ops
