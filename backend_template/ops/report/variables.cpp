#include "backend_template/ops/report/variables.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string_view>

#include "backend_template/core/runtime/environment.h"

namespace outback::ops {
namespace {

struct report_variables {
  std::optional<std::string> file;
  bool with_places = false;
};
report_variables& variables_of_report() {
  static auto& kept = *new report_variables;  // leaked
  return kept;
}

// The process's own open files, whose names are links.
bool is_own_descriptor(std::string_view path) {
  return path == "/dev/stdout" || path == "/dev/stderr" || path.starts_with("/dev/fd/") ||
         path.starts_with("/proc/self/fd/");
}

// Throws for a file that a document shall not take the place of.
std::optional<std::string> wanted_file() {
  constexpr const char* name = "OUTBACK_OPERATORS";
  const std::optional<std::string> value = outback::detail::variable(name);
  if (!value || is_own_descriptor(*value)) return value;
  constexpr std::string_view process = "%p";
  std::string path = *value;
  for (size_t at = 0; (at = path.find(process, at)) != std::string::npos;) {
    path.replace(at, process.size(), std::to_string(::getpid()));
  }
  struct stat there = {};
  if (::lstat(path.c_str(), &there) != 0) return value;
  const char* const what = S_ISLNK(there.st_mode)                         ? "symbolic link"
                           : S_ISDIR(there.st_mode)                       ? "folder"
                           : S_ISREG(there.st_mode) && there.st_nlink > 1 ? "file of several names"
                                                                          : nullptr;
  if (what == nullptr) return value;
  outback::detail::refuse_variable(
      name, *value, "expected a file to write, not one that is a " + std::string(what));
}

}  // namespace

void read_report_variables() {
  core::from_environment([] {
    variables_of_report() = {
        wanted_file(), outback::detail::flag_variable("OUTBACK_OPERATORS_STACK").value_or(false)};
  });
}

const std::optional<std::string>& wanted_report() noexcept {
  return variables_of_report().file;
}

bool are_places_wanted() noexcept {
  return variables_of_report().with_places;
}

}  // namespace outback::ops
