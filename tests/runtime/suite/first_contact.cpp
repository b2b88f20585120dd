#include "tests/runtime/suite/first_contact.hpp"

#include <cstdint>
#include <limits>

#include "outback/answer_check.hpp"
#include "tests/runtime/suite/guard.hpp"
#include "tests/runtime/suite/suite.hpp"

namespace outback::suite {
namespace {

constexpr int32_t most_devices = 127;  // PyTorch's numbers of devices are signed bytes
constexpr int32_t unwritten = std::numeric_limits<int32_t>::min();

std::string blame_text(const std::string& call, const std::string& what) {
  return call + ": the runtime is wrong: it " + what;
}

// Answers what is wrong with it; `count` is what the runtime said.
std::string ask_count(int32_t& count) {
  const int32_t before = count;
  const std::string call = "device_count";
  begin_guarded("the first contact: " + call);
  count = unwritten;
  const outback_status status = table().device_count(table().self, &count);
  if (status != OUTBACK_OK) return call + ": " + failure_text(status);
  if (count == unwritten) return blame_text(call, "answered ok and wrote nothing to *count");
  const std::string problem = device_count_problem(count, before);
  if (!problem.empty()) return blame_text(call, problem);
  if (count > most_devices) {
    return call + ": " + std::to_string(count) + " devices: PyTorch can number " +
           std::to_string(most_devices) + ", so select some of them below the table";
  }
  if (count > 0) return "";
  return call +
         ": 0 devices: that is a legal answer, of a machine without one, and leaves nothing "
         "to test: run the suite where there is a device";
}

std::string ask_info(int32_t device) {
  const std::string call = "device_info(device " + std::to_string(device) + ")";
  begin_guarded("the first contact: " + call);
  outback_device_info info = {};
  info.struct_size = sizeof(info);
  const outback_status status = table().device_info(table().self, device, &info);
  if (status != OUTBACK_OK) return call + ": " + failure_text(status);
  const std::string problem = device_info_problem(info);
  return problem.empty() ? "" : blame_text(call, problem);
}

}  // namespace

std::string first_contact_problem() {
  begin_guarded("the first contact: last_error");
  if (table().last_error(table().self) == nullptr) {
    return blame_text("last_error",
                      "answered null: expected a text, \"\" before the first failure");
  }
  int32_t count = -1;
  for (int i = 0; i < 2; ++i) {
    if (std::string problem = ask_count(count); !problem.empty()) return problem;
  }
  for (int32_t device = 0; device < count; ++device) {
    if (std::string problem = ask_info(device); !problem.empty()) return problem;
  }
  return "";
}

void first_contact::SetUp() {
  const std::string problem = first_contact_problem();
  end_guarded();
  if (!problem.empty()) FAIL() << problem;
}

}  // namespace outback::suite
