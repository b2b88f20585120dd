// What operators of the device refuse of CPU scalars is what the table of torch.cuda's answers
// says, whatever else a schema has.
#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "backend_template/ops/in_place/op_facts.h"
#include "backend_template/ops/in_place/refused_entries.h"
#include "backend_template/ops/in_place/refused_scalars.h"

namespace outback::test {
namespace {

size_t count_of(std::string_view names) {
  return names.empty() ? 0 : 1 + static_cast<size_t>(std::count(names.begin(), names.end(), ' '));
}

TEST(RefusedScalarsTest, EachEntryNamesArgumentsOfItsOperator) {
  size_t found = 0;
  for (const ops::refused_entry& entry : ops::refused_entries) {
    const c10::OperatorName name("aten::" + std::string(entry.op), std::string(entry.overload));
    const auto op = c10::Dispatcher::singleton().findSchema(name);
    if (!op) continue;  // of another release of torch
    ++found;
    const ops::op_facts facts = ops::facts_of(*op);
    size_t refused = 0;
    for (size_t i = 0; i < op->schema().arguments().size(); ++i) {
      const uint64_t bit = uint64_t{1} << i;
      if (facts.mixing_at(bit) != ops::mixing::no_scalars) continue;
      ++refused;
      EXPECT_NE(facts.handled & bit, 0U) << name;
      EXPECT_EQ(facts.written & bit, 0U) << name;
    }
    EXPECT_EQ(refused, count_of(entry.arguments)) << name;
  }
  EXPECT_GT(found, ops::refused_entries.size() * 9 / 10);
}

TEST(RefusedScalarsTest, NoOtherOperatorRefusesAny) {
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
    const auto op = c10::Dispatcher::singleton().findSchema(name);
    if (!op || op->schema().arguments().size() > 64) continue;
    if (!ops::refused_scalars(name.name, name.overload_name).spelled.empty()) continue;
    EXPECT_EQ(ops::facts_of(*op).scalars_refused, 0U) << name;
  }
}

TEST(RefusedScalarsTest, NamesAreWholeWords) {
  EXPECT_TRUE(ops::refused_scalars("aten::lerp", "Tensor").contains("end"));
  EXPECT_TRUE(ops::refused_scalars("aten::lerp", "Tensor").contains("self"));
  EXPECT_TRUE(ops::refused_scalars("aten::_cdist_backward", "").contains("grad"));
  EXPECT_TRUE(ops::refused_scalars("aten::_cdist_backward", "").contains("grad_output"));
  EXPECT_FALSE(ops::refused_scalars("aten::lerp", "Tensor").contains("weight"));
  EXPECT_FALSE(ops::refused_scalars("aten::lerp", "Tensor").contains("sel"));
  EXPECT_FALSE(ops::refused_scalars("aten::lerp", "Tensor").contains(""));
  EXPECT_FALSE(ops::refused_scalars("aten::add", "Tensor").contains("other"));
  EXPECT_FALSE(ops::refused_scalars("mine::lerp", "Tensor").contains("self"));
}

}  // namespace
}  // namespace outback::test
