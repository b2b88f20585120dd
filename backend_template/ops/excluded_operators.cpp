// Reads names of operators and asks the dispatcher whether torch has them.
#include "backend_template/ops/excluded_operators.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>
#include <torch/headeronly/version.h>

#include <sstream>

#include "outback/detail/variables.hpp"

namespace outback::ops {
namespace {

// `from` is where the text stands, for the message.
c10::OperatorName operator_name_of(const std::string& text, const std::string& from) {
  TORCH_CHECK_VALUE(text.find("::") != std::string::npos, from,
                    ": expected names such as \"aten::mm\" or \"aten::add.Tensor\", got \"", text,
                    "\"");
  // The dot before an overload's name; a namespace may hold one too.
  const size_t dot = text.find('.', text.find("::"));
  c10::OperatorName name{text.substr(0, dot),
                         dot == std::string::npos ? std::string() : text.substr(dot + 1)};
  TORCH_CHECK_VALUE(c10::Dispatcher::singleton().findSchema(name).has_value(), from, ": torch ",
                    TORCH_VERSION, " has no operator \"", text, "\"");
  return name;
}

}  // namespace

operator_names operator_names_of(const std::vector<std::string>& texts) {
  operator_names names;
  for (const std::string& text : texts) {
    names.insert(operator_name_of(text, "excluded_operators"));
  }
  return names;
}

operator_names portable_excluded() {
  constexpr const char* name = "OUTBACK_PORTABLE_EXCLUDED";
  const std::string value = detail::variable(name).value_or("");
  const std::string from = std::string(name) + "=" + detail::shown(value);
  operator_names names;
  std::istringstream texts(value);
  for (std::string text; std::getline(texts, text, ',');) {
    names.insert(operator_name_of(text, from));
  }
  return names;
}

}  // namespace outback::ops
