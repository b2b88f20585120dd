// outback::normalize_device: what each argument means, and what each wrong one is told.
//
//   OUTBACK_FUZZ_CALLS=200000   calls with random arguments; 20000
#include <c10/util/Exception.h>
#include <gmock/gmock.h>

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>

#include "backend_template/core/devices/device.h"
#include "tests/core/test_backend.h"

namespace outback::test {
namespace {

using ::testing::HasSubstr;

class DeviceIndexTest : public BackendTest {
 protected:
  void TearDown() override { core::set_device(0); }
};

// Nearly all are refused, and an exception takes 10 microseconds.
int random_calls() {
  const char* const text = std::getenv("OUTBACK_FUZZ_CALLS");
  return text == nullptr ? 20000 : std::stoi(text);
}

template <class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const c10::Error& e) {
    return e.what_without_backtrace();
  }
  return "";
}

TEST_F(DeviceIndexTest, NamesAndIndicesAreTheSameDevice) {
  EXPECT_EQ(normalize_device(c10::DeviceIndex{1}), 1);
  EXPECT_EQ(normalize_device("acme:1"), 1);
  EXPECT_EQ(normalize_device(device(1)), 1);
}

TEST_F(DeviceIndexTest, NoIndexMeansTheCurrentDevice) {
  core::set_device(1);
  EXPECT_EQ(normalize_device("acme"), 1);
  EXPECT_EQ(normalize_device(c10::Device(c10::DeviceType::PrivateUse1)), 1);
  EXPECT_EQ(normalize_device(std::optional<c10::Device>()), 1);
}

TEST_F(DeviceIndexTest, OutOfRangeNamesTheRange) {
  EXPECT_THAT(message_of([] { normalize_device("acme:9"); }),
              HasSubstr("acme:9 does not exist: expected an index from 0 to 1"));
  EXPECT_THAT(message_of([] { normalize_device(c10::DeviceIndex{-1}); }), HasSubstr("from 0 to 1"));
  EXPECT_THROW(normalize_device("acme:99999999999999999999"), c10::AcceleratorError);
}

TEST_F(DeviceIndexTest, NoNumberIsTooLarge) {
  for (const int64_t index :
       {int64_t{127}, int64_t{128}, int64_t{256}, int64_t{257}, int64_t{-300},
        std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()}) {
    EXPECT_THROW(normalize_device(index), c10::AcceleratorError) << index;
    EXPECT_THAT(message_of([index] { normalize_device(index); }),
                HasSubstr("acme:" + std::to_string(index) + " does not exist"));
  }
}

TEST_F(DeviceIndexTest, AnIndexCanBeAskedFor) {
  const device_rules strict{.optional = false};
  EXPECT_EQ(normalize_device("acme:1", strict), 1);
  EXPECT_EQ(normalize_device(device(1), strict), 1);
  for (const auto& refused : {message_of([&] { normalize_device("acme", strict); }),
                              message_of([&] { normalize_device(std::nullopt, strict); })}) {
    EXPECT_THAT(refused, HasSubstr("expected an index or a device with one, such as \"acme:0\""));
  }
}

TEST_F(DeviceIndexTest, TheCpuCanBeAllowed) {
  const device_rules or_cpu{.allow_cpu = true};
  EXPECT_EQ(normalize_device("cpu", or_cpu), -1);
  EXPECT_EQ(normalize_device(c10::Device(c10::kCPU), or_cpu), -1);
  EXPECT_EQ(normalize_device("acme:1", or_cpu), 1);
  EXPECT_THAT(message_of([&] { normalize_device("cuda", or_cpu); }),
              HasSubstr("expected \"acme\" or \"acme:<index>\" or \"cpu\", got \"cuda\""));
  EXPECT_THAT(message_of([&] { normalize_device(c10::Device(c10::kCUDA), or_cpu); }),
              HasSubstr("expected a device of type acme or \"cpu\", got \"cuda\""));
}

TEST_F(DeviceIndexTest, AnotherDeviceTypeIsNamed) {
  EXPECT_THAT(message_of([] { normalize_device(c10::Device(c10::kCPU)); }),
              HasSubstr("expected a device of type acme, got \"cpu\""));
}

TEST_F(DeviceIndexTest, MalformedNamesSayWhatWasExpected) {
  for (const char* text : {"", "acm", "acme2", "acme:", "acme:-1", "acme:01", "acme:1 ", "acme:x",
                           "cpu", "acme:1:1", ":1"}) {
    EXPECT_THAT(message_of([text] { normalize_device(std::string_view(text)); }),
                HasSubstr("expected \"acme\" or \"acme:<index>\""))
        << text;
  }
}

TEST_F(DeviceIndexTest, NoTextCrashesItOrNamesAWrongDevice) {
  std::mt19937 random(1);
  const std::string letters = "acme:0123456789-+ .\0x";
  for (int i = random_calls(); i > 0; --i) {
    std::string text = random() % 2 == 0 ? "acme:" : "";
    for (unsigned n = random() % 6; n > 0; --n) text.push_back(letters[random() % letters.size()]);
    c10::DeviceIndex index = -1;
    if (message_of([&] { index = normalize_device(std::string_view(text)); }).empty()) {
      ASSERT_TRUE(text == "acme" || text == "acme:" + std::to_string(index)) << text;
    }
  }
}

TEST_F(DeviceIndexTest, NoDeviceOrNumberCrashesItOrNamesAWrongDevice) {
  std::mt19937_64 random(2);
  for (int i = random_calls(); i > 0; --i) {
    const auto number = static_cast<int64_t>(random()) >> (random() % 64);
    c10::DeviceIndex index = -1;
    const bool is_taken = message_of([&] { index = normalize_device(number); }).empty();
    ASSERT_EQ(is_taken, number == 0 || number == 1) << number;
    ASSERT_TRUE(!is_taken || index == number) << number;

    const auto type = static_cast<c10::DeviceType>(random() % c10::COMPILE_TIME_MAX_DEVICE_TYPES);
    const auto given = static_cast<c10::DeviceIndex>(static_cast<int>(random() % 129) - 1);
    if (type == c10::kCPU && given > 0) continue;  // no such c10::Device
    const c10::Device device(type, given);
    const device_rules rules{.optional = random() % 2 == 0, .allow_cpu = random() % 2 == 0};
    if (!message_of([&] { index = normalize_device(device, rules); }).empty()) continue;
    if (device.is_cpu()) {
      ASSERT_TRUE(rules.allow_cpu && index == -1) << device;
    } else {
      ASSERT_EQ(type, c10::DeviceType::PrivateUse1);
      ASSERT_TRUE(given >= 0 ? index == given : rules.optional && index == 0) << device;
    }
  }
}

}  // namespace
}  // namespace outback::test
