// Reads names of operators and asks the dispatcher whether torch has them.
#include "backend_template/ops/excluded_operators.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>
#include <torch/headeronly/version.h>

namespace outback::ops {
namespace {

c10::OperatorName operator_name_of(const std::string& text) {
  TORCH_CHECK_VALUE(text.find("::") != std::string::npos,
                    "excluded_operators: expected names such as \"aten::mm\" or "
                    "\"aten::add.Tensor\", got \"",
                    text, "\"");
  // The dot before an overload's name; a namespace may hold one too.
  const size_t dot = text.find('.', text.find("::"));
  c10::OperatorName name{text.substr(0, dot),
                         dot == std::string::npos ? std::string() : text.substr(dot + 1)};
  TORCH_CHECK_VALUE(c10::Dispatcher::singleton().findSchema(name).has_value(),
                    "excluded_operators: torch ", TORCH_VERSION, " has no operator \"", text, "\"");
  return name;
}

}  // namespace

operator_names operator_names_of(const std::vector<std::string>& texts) {
  operator_names names;
  for (const std::string& text : texts) names.insert(operator_name_of(text));
  return names;
}

}  // namespace outback::ops
