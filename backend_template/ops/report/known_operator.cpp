#include "backend_template/ops/report/known_operator.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "backend_template/ops/in_place/cpu_target.h"

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

// What schemas do not say of arguments: the one that is written without being read, and the one of
// which parts are read.
struct known_argument {
  std::string_view name;
  int argument;
};
constexpr std::array overwritten{
    known_argument{"aten::fill_", 0},          known_argument{"aten::zero_", 0},
    known_argument{"aten::copy_", 0},          known_argument{"aten::normal_", 0},
    known_argument{"aten::uniform_", 0},       known_argument{"aten::random_", 0},
    known_argument{"aten::exponential_", 0},   known_argument{"aten::geometric_", 0},
    known_argument{"aten::log_normal_", 0},    known_argument{"aten::cauchy_", 0},
    known_argument{"aten::bernoulli_", 0},     known_argument{"aten::_copy_from", 1},
    known_argument{"aten::_foreach_zero_", 0}, known_argument{"aten::_foreach_copy_", 0}};
constexpr std::array gathered{
    known_argument{"aten::embedding", 0},     known_argument{"aten::index_select", 0},
    known_argument{"aten::gather", 0},        known_argument{"aten::index", 0},
    known_argument{"aten::_unsafe_index", 0}, known_argument{"aten::take", 0},
    known_argument{"aten::slice_copy", 0},    known_argument{"aten::select_copy", 0}};

template <size_t N>
int argument_in(const std::array<known_argument, N>& all, std::string_view name) {
  const auto is_it = [name](const known_argument& each) { return each.name == name; };
  const auto found = std::find_if(all.begin(), all.end(), is_it);
  return found == all.end() ? -1 : found->argument;
}

void learn(known_operator& known, const c10::OperatorHandle& op) {
  const c10::FunctionSchema& schema = op.schema();
  known.name = schema.name();
  known.overload = schema.overload_name();
  const auto& arguments = schema.arguments();
  for (size_t i = 0; i < std::min<size_t>(arguments.size(), 64); ++i) {
    if (arguments[i].is_out()) known.outputs |= uint64_t{1} << i;
  }
  const int written = argument_in(overwritten, known.name);
  if (written >= 0) known.outputs |= uint64_t{1} << written;
  known.gathered = argument_in(gathered, known.name);
  known.is_view = returns_view(schema);
}

}  // namespace

known_operator& knowledge_of(const c10::OperatorHandle& op) {
  const provider who = provider_of(op, cpu_target, provider::in_place);
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
    if (op) known->who = provider_of(*op, cpu_target, provider::in_place);
  }
}

}  // namespace outback::ops
