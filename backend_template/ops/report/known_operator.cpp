#include "backend_template/ops/report/known_operator.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "backend_template/ops/in_place/cpu_target.h"
#include "backend_template/ops/operator_table.h"

namespace outback::ops {
namespace {

struct knowledge {
  std::mutex mutex;
  std::unordered_map<c10::OperatorName, known_operator> operators;  // whose places do not move
  std::unordered_set<std::string> with_formulas;
};

// Leaked: operators may run until the process ends.
knowledge& knowledge_of_all() {
  static auto& kept = *new knowledge;
  return kept;
}

// A new tensor over an argument's memory, as of aten::t: its schema has an alias that is not
// written.
bool returns_view(const c10::FunctionSchema& schema) {
  const auto is_view = [](const c10::Argument& result) {
    return result.alias_info() != nullptr && !result.alias_info()->isWrite();
  };
  return !schema.returns().empty() &&
         std::all_of(schema.returns().begin(), schema.returns().end(), is_view);
}

void learn(known_operator& known, const c10::OperatorHandle& op) {
  const c10::FunctionSchema& schema = op.schema();
  known.name = schema.name();
  known.overload = schema.overload_name();
  const auto& arguments = schema.arguments();
  for (size_t i = 0; i < std::min<size_t>(arguments.size(), 64); ++i) {
    if (arguments[i].is_out()) known.outputs |= uint64_t{1} << i;
  }
  const operator_row& row = row_of(known.name);
  if (row.overwritten >= 0) known.outputs |= uint64_t{1} << row.overwritten;
  known.gathered = row.gathered;
  known.is_view = returns_view(schema);
}

}  // namespace

known_operator& knowledge_of(const c10::OperatorHandle& op) {
  const provider who = provider_of(op, cpu_target, provider::in_place, /*has_portable=*/true);
  const std::lock_guard<std::mutex> lock(knowledge_of_all().mutex);
  const auto [place, is_new] = knowledge_of_all().operators.try_emplace(op.operator_name());
  known_operator& known = place->second;
  if (is_new) {
    learn(known, op);
    known.has_formula = knowledge_of_all().with_formulas.contains(known.name);
    known.who = who;
  }
  return known;
}

void renew_knowledge(const std::vector<std::string>& with_formulas) {
  std::vector<std::pair<c10::OperatorName, known_operator*>> all;
  {
    const std::lock_guard<std::mutex> lock(knowledge_of_all().mutex);
    knowledge_of_all().with_formulas.insert(with_formulas.begin(), with_formulas.end());
    for (auto& [name, known] : knowledge_of_all().operators) all.emplace_back(name, &known);
  }
  for (const auto& [name, known] : all) {
    const auto op = c10::Dispatcher::singleton().findSchema(name);
    if (op) known->who = provider_of(*op, cpu_target, provider::in_place, /*has_portable=*/true);
  }
}

}  // namespace outback::ops
