// What operators of the device refuse of CPU scalars is what torch.cuda answered, but for what they
// write, which takes no CPU tensor at all.
#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <sstream>
#include <string>

#include "backend_template/ops/in_place/op_facts.h"
#include "backend_template/ops/in_place/refused_scalars.h"

namespace outback::test {
namespace {

// A line of cpu_scalars.txt. A list is one argument.
struct answer {
  explicit answer(std::string_view line) {
    std::istringstream words{std::string(line)};
    std::string name, word;
    words >> name;
    const size_t dot = name.find('.');
    op = "aten::" + name.substr(0, dot);
    overload = name.substr(dot + 1, name.size() - dot - 2);  // without the colon
    if (overload == "default") overload.clear();
    while (words >> word) {
      const bool is_refused = word.starts_with('-');
      (is_refused ? refused : taken).insert(word.substr(is_refused, word.find('[') - is_refused));
    }
  }

  std::optional<c10::OperatorHandle> found() const {
    return c10::Dispatcher::singleton().findSchema({op, overload});
  }

  std::string op, overload;
  std::set<std::string> taken, refused;
};

TEST(RefusedScalarsTest, AListTakesOneAtEachOfItsPlacesOrAtNone) {
  for (const std::string_view line : ops::cpu_scalar_answers()) {
    const answer said(line);
    for (const std::string& name : said.refused) EXPECT_FALSE(said.taken.contains(name)) << line;
  }
}

TEST(RefusedScalarsTest, WhatAnOperatorReadsIsRefusedAsTorchCudaAnswered) {
  size_t found = 0;
  for (const std::string_view line : ops::cpu_scalar_answers()) {
    const answer said(line);
    const auto op = said.found();
    if (!op) continue;  // of another release of torch
    ++found;
    const ops::op_facts facts = ops::facts_of(*op);
    for (size_t i = 0; i < op->schema().arguments().size(); ++i) {
      const uint64_t bit = uint64_t{1} << i;
      std::string name = op->schema().arguments()[i].name();
      if (said.op == "aten::_cdist_backward" && name == "grad_output") name = "grad";
      const bool is_taken_after_all =
          said.op == "aten::_foreach_add_" && said.overload == "Tensor" && name == "other";
      EXPECT_TRUE(!is_taken_after_all || said.refused.contains(name)) << line << ": no exception";
      const bool is_refused =
          said.refused.contains(name) && (facts.written & bit) == 0 && !is_taken_after_all;
      EXPECT_EQ(facts.mixing_at(bit) == ops::mixing::no_scalars, is_refused)
          << line << ", " << name;
      EXPECT_TRUE(!is_refused || (facts.handled & bit) != 0) << line << ", " << name;
    }
  }
  EXPECT_GT(found, ops::cpu_scalar_answers().size() * 9 / 10);
}

TEST(RefusedScalarsTest, NoOtherOperatorRefusesAny) {
  std::set<std::pair<std::string, std::string>> asked;
  for (const std::string_view line : ops::cpu_scalar_answers()) {
    const answer said(line);
    asked.emplace(said.op, said.overload);
  }
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
    const auto op = c10::Dispatcher::singleton().findSchema(name);
    if (!op || op->schema().arguments().size() > 64) continue;
    if (asked.contains({name.name, name.overload_name})) continue;
    EXPECT_EQ(ops::facts_of(*op).scalars_refused, 0U) << name;
  }
}

TEST(RefusedScalarsTest, NamesAreWholeWords) {
  EXPECT_TRUE(ops::refuses_scalar("aten::lerp", "Tensor", "end"));
  EXPECT_TRUE(ops::refuses_scalar("aten::lerp", "Tensor", "self"));
  EXPECT_TRUE(ops::refuses_scalar("aten::_cdist_backward", "", "grad"));
  EXPECT_TRUE(ops::refuses_scalar("aten::_cdist_backward", "", "grad_output"));
  EXPECT_FALSE(ops::refuses_scalar("aten::lerp", "Tensor", "weight"));
  EXPECT_FALSE(ops::refuses_scalar("aten::lerp", "Tensor", "sel"));
  EXPECT_FALSE(ops::refuses_scalar("aten::lerp", "Tensor", ""));
  EXPECT_FALSE(ops::refuses_scalar("aten::add", "Tensor", "other"));
  EXPECT_FALSE(ops::refuses_scalar("mine::lerp", "Tensor", "self"));
}

}  // namespace
}  // namespace outback::test
