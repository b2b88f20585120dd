#include "backend_template/ops/in_place/op_facts.h"

#include <ATen/core/enum_tag.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/jit_type.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "backend_template/ops/in_place/refused_scalars.h"
#include "backend_template/ops/operator_table.h"

namespace outback::ops {
namespace {

template <size_t N>
bool contains(const std::array<std::string_view, N>& names, std::string_view wanted) {
  return std::find(names.begin(), names.end(), wanted) != names.end();
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
  return row_of(op.operator_name().name).composed_on_pointers &&
         !op.hasKernelForDispatchKey(c10::DispatchKey::CPU);
}

op_facts facts_of(const c10::OperatorHandle& op) {
  const c10::FunctionSchema& schema = op.schema();
  const auto& arguments = schema.arguments();
  TORCH_INTERNAL_ASSERT(arguments.size() <= 64, schema);
  const operator_row& row = row_of(schema.name());
  op_facts facts;
  if (!row.moves_data) {
    facts.judged_as = operator_text{schema.name().c_str(), schema.overload_name().c_str()};
  }
  facts.arguments = static_cast<uint32_t>(arguments.size());
  facts.returns = static_cast<uint32_t>(schema.returns().size());
  facts.results_stay_on_cpu = row.results_stay_on_cpu;
  const std::string_view name = schema.name();
  facts.changes_lists = name.starts_with("aten::_foreach_") && name.ends_with('_');
  facts.tells_host =
      op.hasTag(at::Tag::dynamic_output_shape) || op.hasTag(at::Tag::data_dependent_output);
  facts.asks_requires_grad = row.asks_requires_grad;
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
    if ((alias != nullptr && alias->isWrite()) || contains(row.also_written, argument.name())) {
      facts.written |= bit;
      const bool is_overwritten =
          argument.is_out() ? !row.may_leave_out
                            : row.overwritten == static_cast<int>(i) && !row.lent_with_bytes;
      if (is_overwritten) facts.overwritten |= bit;
    }
    if (contains(row.cpu_arguments, argument.name())) facts.cpu_allowed |= bit;
    // What the operator writes takes no CPU tensor in any case.
    if ((facts.written & bit) == 0 &&
        refuses_scalar(schema.name(), schema.overload_name(), argument.name())) {
      facts.scalars_refused |= bit;
    }
  }
  return facts;
}

}  // namespace outback::ops
