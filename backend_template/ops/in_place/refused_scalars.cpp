#include "backend_template/ops/in_place/refused_scalars.h"

#include <algorithm>
#include <utility>

#include "backend_template/ops/in_place/refused_entries.h"

namespace outback::ops {
namespace {

using overload_name = std::pair<std::string_view, std::string_view>;

constexpr overload_name name_of(const refused_entry& entry) {
  return {entry.op, entry.overload};
}

constexpr bool comes_before(const refused_entry& a, const refused_entry& b) {
  return name_of(a) < name_of(b);
}

static_assert(std::is_sorted(refused_entries.begin(), refused_entries.end(), comes_before));

}  // namespace

bool argument_names::contains(std::string_view name) const {
  std::string_view rest = spelled;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find_first_of(" /"), rest.size());
    if (rest.substr(0, end) == name) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

argument_names refused_scalars(std::string_view name, std::string_view overload) {
  constexpr std::string_view aten = "aten::";
  if (!name.starts_with(aten)) return {};
  const refused_entry wanted{name.substr(aten.size()), overload, {}};
  const auto* const found =
      std::lower_bound(refused_entries.begin(), refused_entries.end(), wanted, comes_before);
  const bool is_there = found != refused_entries.end() && name_of(*found) == name_of(wanted);
  return {is_there ? found->arguments : std::string_view()};
}

}  // namespace outback::ops
