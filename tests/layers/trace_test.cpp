// How the slots of each group look in a trace. What becomes of files: check_layers_program.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <locale.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "backend_template/layers/text.hpp"
#include "tests/layers/layers_testing.hpp"

// glibc keeps a list that it made of LOCPATH, in a function of this name.
// NOLINTNEXTLINE(bugprone-reserved-identifier): the sanitizer's name
extern "C" [[gnu::visibility("default")]] const char* __lsan_default_suppressions() {
  return "leak:argz_add_sep\n";
}

namespace outback::layers {
namespace {

using testing::HasSubstr;

class trace_test : public testing::Test {
 protected:
  explicit trace_test(const char* extension)
      : path_(testing::TempDir() + "outback_trace_test" + extension),
        table_(trace(whole_table(), path_)),
        t_(*table_),
        self_(t_.self) {}

  /// What was written of the call before: its arguments, answer and results.
  std::string last() {
    flush_trace(table_);
    std::ifstream file(path_);
    std::string line, found;
    while (std::getline(file, line)) {
      if (line.find('(') != std::string::npos || line.find("\"args\"") != std::string::npos) {
        found = line;
      }
    }
    return found;
  }
  static std::string at(const void* ptr) { return address_text(ptr); }

  const std::string path_;
  const outback_runtime* const table_;
  const outback_runtime t_;
  void* const self_;
};

struct TextTraceTest : trace_test {
  TextTraceTest() : trace_test(".txt") {}
};
struct ChromeTraceTest : trace_test {
  ChromeTraceTest() : trace_test(".json") {}
};

void no_work(void*) {}

TEST_F(TextTraceTest, EachGroup) {
  int32_t can = 0;
  std::byte host[64] = {};
  EXPECT_EQ(t_.host_registration->add(self_, host, 64), OUTBACK_OK);
  EXPECT_THAT(last(), HasSubstr(" host_registration.add(ptr=" + at(host) + ", size=64) = ok, "));
  EXPECT_EQ(t_.peer->can_access(self_, 0, 1, &can), OUTBACK_OK);
  EXPECT_THAT(last(), HasSubstr(" peer.can_access(device=0, peer=1) = ok (can=1), "));

  outback_stream s = nullptr;
  EXPECT_EQ(t_.native->wrap_stream(self_, 1, this, &s), OUTBACK_OK);
  EXPECT_THAT(last(), HasSubstr(" native.wrap_stream(device=1, handle=" + at(this) +
                                ") = ok (stream=" + at(s) + "), "));
  EXPECT_EQ(t_.callbacks->enqueue(self_, 1, no_work, host, s), OUTBACK_OK);
  const auto callback = reinterpret_cast<uintptr_t>(&no_work);
  EXPECT_THAT(last(), HasSubstr(" callbacks.enqueue(device=1, callback=" + address_text(callback) +
                                ", data=" + at(host) + ", stream=" + at(s) + ") = ok, "));
  EXPECT_EQ(t_.callbacks->enqueue(self_, 1, nullptr, nullptr, s), OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(last(), HasSubstr("callback=null, data=null, stream=" + at(s) +
                                ") = invalid_argument: callback is null, "));

  outback_graph g = nullptr;
  outback_capture capture = 0;
  EXPECT_EQ(t_.graphs->begin(self_, 1, s), OUTBACK_OK);
  EXPECT_EQ(t_.graphs->status(self_, 1, s, &capture), OUTBACK_OK);
  EXPECT_THAT(last(),
              HasSubstr(" graphs.status(device=1, stream=" + at(s) + ") = ok (capture=1), "));
  EXPECT_EQ(t_.graphs->end(self_, 1, s, &g), OUTBACK_OK);
  EXPECT_THAT(last(), HasSubstr(") = ok (graph=" + at(g) + "), "));

  int64_t value = 0;
  EXPECT_EQ(t_.telemetry->read(self_, 0, OUTBACK_METRIC_MEMORY_USED, &value), OUTBACK_OK);
  EXPECT_THAT(last(), HasSubstr(" telemetry.read(device=0, metric=3) = ok (value=0), "));
  EXPECT_EQ(t_.activity->push(self_, 7), OUTBACK_OK);
  EXPECT_THAT(last(), HasSubstr(" activity.push(correlation=7) = ok, "));
  uint64_t number = 0;
  EXPECT_EQ(t_.activity->pop(self_, &number), OUTBACK_OK);
  EXPECT_THAT(last(), HasSubstr(" activity.pop() = ok (correlation=7), "));
  EXPECT_EQ(t_.ranges->push(self_, "step"), OUTBACK_OK);
  EXPECT_THAT(last(), HasSubstr(" ranges.push(name=\"step\") = ok, "));
  EXPECT_EQ(t_.ranges->pop(self_), OUTBACK_OK);
  EXPECT_THAT(last(), HasSubstr(" ranges.pop() = ok, "));
}

TEST_F(TextTraceTest, LaunchesHaveNamesGridsAndArguments) {
  outback_module m = nullptr;
  outback_kernel k = nullptr;
  EXPECT_EQ(t_.kernels->module_load(self_, 1, OUTBACK_FORMAT_HOST, "code", 4, &m), OUTBACK_OK);
  EXPECT_THAT(last(), HasSubstr(", size=4) = ok (module=" + at(m) + "), "));
  EXPECT_EQ(t_.kernels->kernel(self_, 1, m, "add", &k), OUTBACK_OK);
  EXPECT_THAT(last(), HasSubstr("name=\"add\") = ok (kernel=" + at(k) + "), "));
  void* ptr = nullptr;
  EXPECT_EQ(t_.mem_alloc(self_, 1, 64, &ptr), OUTBACK_OK);
  const uint32_t number = 0x01020304;
  const std::array<std::byte, 20> wide = {};
  const outback_argument arguments[] = {
      {&ptr, sizeof(ptr), 1}, {&number, sizeof(number), 0}, {wide.data(), 20, 0}};
  outback_launch launch = {.struct_size = sizeof(launch),
                           .argument_count = 3,
                           .arguments = arguments,
                           .groups = {5, 6, 7},
                           .items = {8, 2, 1},
                           .local_size = 96};
  EXPECT_EQ(t_.kernels->launch(self_, 1, k, &launch, nullptr), OUTBACK_OK);
  EXPECT_THAT(last(), HasSubstr(" kernels.launch(device=1, kernel=" + at(k) +
                                ", name=\"add\", launch=[groups 5x6x7 of items 8x2x1, local 96 "
                                "bytes: " +
                                at(ptr) +
                                ", bytes 04030201, bytes "
                                "00000000000000000000000000000000... of 20], stream=null) = ok, "));
  launch = {.struct_size = sizeof(launch),
            .argument_count = 0,
            .arguments = nullptr,
            .groups = {1, 1, 1},
            .items = {1, 1, 1},
            .local_size = 0};
  EXPECT_EQ(t_.kernels->launch(self_, 1, k, &launch, nullptr), OUTBACK_OK);
  EXPECT_THAT(last(), HasSubstr(", launch=[groups 1x1x1 of items 1x1x1], stream=null) = ok, "));
  EXPECT_EQ(t_.kernels->launch(self_, 1, k, nullptr, nullptr), OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(last(), HasSubstr(", launch=null, stream=null) = invalid_argument: launch is null"));
}

// Bytes and descriptor, on the side that makes a handle and on the one that opens it.
TEST_F(TextTraceTest, IpcHandlesAreWritten) {
  void *ptr = nullptr, *opened = nullptr;
  outback_ipc_handle handle = {};
  handle.struct_size = sizeof(handle);
  ASSERT_EQ(t_.mem_alloc(self_, 0, 64, &ptr), OUTBACK_OK);
  ASSERT_EQ(t_.ipc->get_memory(self_, 0, ptr, &handle), OUTBACK_OK);
  const std::string text = "handle=[fd -1, 24 bytes: " + hex_text(handle.bytes, 24) + "]";
  EXPECT_THAT(last(), HasSubstr(" = ok (" + text + "), "));
  EXPECT_EQ(t_.ipc->open_memory(self_, 0, &handle, &opened), OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(last(), HasSubstr(" ipc.open_memory(device=0, " + text + ") = invalid_argument: "));
  // Nothing is read beyond what the caller says is there.
  handle.struct_size = 8;
  EXPECT_EQ(t_.ipc->open_memory(self_, 0, &handle, &opened), OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(last(), HasSubstr("(device=0, handle=" + at(&handle) + ") = invalid"));
  EXPECT_EQ(t_.ipc->open_memory(self_, 0, nullptr, &opened), OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(last(), HasSubstr("(device=0, handle=null) = invalid"));
}

// A locale of numbers with a comma, which is made here; null where it cannot be.
locale_t with_a_comma() {
  const std::string folder = testing::TempDir() + "outback_trace_test_locales";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/source") << "LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \"\"\n"
                                       "grouping -1\nEND LC_NUMERIC\n";
  // It has no other part than this, which localedef complains of.
  const std::string made = " " + folder + "/comma >/dev/null 2>&1";
  [[maybe_unused]] const int status =
      std::system(("localedef -c -f ANSI_X3.4-1968 -i " + folder + "/source" + made).c_str());
  setenv("LOCPATH", folder.c_str(), 1);
  return newlocale(LC_NUMERIC_MASK, "comma", nullptr);
}

TEST_F(ChromeTraceTest, TimesAreNumbersInEveryLocale) {
  const locale_t comma = with_a_comma();
  if (comma == nullptr)
    GTEST_SKIP()
        << "needs localedef (Debian's libc-bin), which makes a locale with a decimal comma";
  const locale_t before = uselocale(comma);
  int32_t count = 0;
  EXPECT_EQ(t_.device_count(self_, &count), OUTBACK_OK);
  uselocale(before);
  freelocale(comma);
  EXPECT_THAT(last(), testing::ContainsRegex(R"("ts": [0-9]+[.][0-9]+, "dur": [0-9]+[.][0-9]+, )"));
}

TEST_F(ChromeTraceTest, EachGroup) {
  outback_capture capture = 0;
  EXPECT_EQ(t_.graphs->status(self_, 1, nullptr, &capture), OUTBACK_OK);
  EXPECT_THAT(last(), HasSubstr(R"("args": {"device": 1, "stream": "null", "capture": 0, )"
                                R"("status": "ok"}})"));
  EXPECT_EQ(t_.callbacks->enqueue(self_, 1, no_work, nullptr, nullptr), OUTBACK_OK);
  const auto callback = reinterpret_cast<uintptr_t>(&no_work);
  EXPECT_THAT(last(), HasSubstr(R"("callback": ")" + address_text(callback) + R"(", "data")"));
  void* ptr = nullptr;
  outback_ipc_handle handle = {};
  handle.struct_size = sizeof(handle);
  ASSERT_EQ(t_.mem_alloc(self_, 0, 64, &ptr), OUTBACK_OK);
  ASSERT_EQ(t_.ipc->get_memory(self_, 0, ptr, &handle), OUTBACK_OK);
  EXPECT_THAT(last(), HasSubstr(R"("handle": "[fd -1, 24 bytes: )" + hex_text(handle.bytes, 24) +
                                R"(]", "status": "ok"}})"));
}

}  // namespace
}  // namespace outback::layers
