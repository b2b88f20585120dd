// Registration without Python: what is refused, that a refusal changes nothing, and what one call
// gives.
#include <ATen/autocast_mode.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <thread>

#include "outback/detail/refused_table.hpp"
#include "outback/runtime.h"
#include "tests/core/test_backend.h"

namespace outback::test {
namespace {

using ::testing::HasSubstr;

constexpr auto privateuse1 = c10::DeviceType::PrivateUse1;

// The message of the c10::Error that registering throws; "" when it throws none.
std::string refusal(const backend_options& options) {
  try {
    register_backend(options);
  } catch (const c10::Error& e) {
    return e.what_without_backtrace();
  }
  return "";
}

bool nothing_is_registered() {
  return !is_registered() && backend_name().empty() && !c10::is_privateuse1_backend_registered() &&
         !c10::impl::hasDeviceGuardImpl(privateuse1) && !at::isPrivateUse1HooksRegistered();
}

TEST(RegistrationTest, RefusalsComeFirstAndChangeNothing) {
  EXPECT_THAT(refusal({.name = "cuda", .runtime = host_table()}),
              HasSubstr("PyTorch has a device of that name"));
  EXPECT_THAT(refusal({.name = "acme", .runtime = nullptr}), HasSubstr("table is null"));

  outback_runtime half = *host_table();
  half.mem_copy = nullptr;
  EXPECT_THAT(refusal({.name = "acme", .runtime = &half}), HasSubstr("mem_copy"));

  outback_events events = *host_table()->events;
  events.elapsed = nullptr;
  half = *host_table();
  half.events = &events;
  EXPECT_THAT(refusal({.name = "acme", .runtime = &half}), HasSubstr("elapsed"));

  half = *host_table();
  half.abi_major = OUTBACK_ABI_MAJOR + 1;
  EXPECT_THAT(refusal({.name = "acme", .runtime = &half}), HasSubstr("version"));

  EXPECT_THAT(refusal({.name = "acme", .runtime = host_table(), .amp_dtypes = {c10::kInt}}),
              HasSubstr("amp_dtypes"));
  EXPECT_THAT(refusal({.name = "acme",
                       .runtime = host_table(),
                       .amp_dtypes = {c10::kHalf},
                       .unsupported_dtypes = {c10::kDouble, c10::kHalf}}),
              HasSubstr("Half is in amp_dtypes and in unsupported_dtypes"));

  setenv("OUTBACK_FLOAT64", "no", 1);
  EXPECT_EQ(refusal({.name = "acme", .runtime = host_table()}),
            "OUTBACK_FLOAT64=no: expected 0 or 1");
  setenv("OUTBACK_FLOAT64", "0", 1);
  EXPECT_THAT(refusal({.name = "acme", .runtime = host_table(), .amp_dtypes = {c10::kDouble}}),
              HasSubstr("Double is in amp_dtypes and in unsupported_dtypes"));
  unsetenv("OUTBACK_FLOAT64");
  setenv("OUTBACK_VALIDATE", "yes", 1);
  EXPECT_EQ(refusal({.name = "acme", .runtime = host_table()}),
            "OUTBACK_VALIDATE=yes: expected 0 or 1");
  unsetenv("OUTBACK_VALIDATE");
  setenv("OUTBACK_REPORT_LEAKS", "yes", 1);
  EXPECT_EQ(refusal({.name = "acme", .runtime = host_table()}),
            "OUTBACK_REPORT_LEAKS=yes: expected 0 or 1");
  unsetenv("OUTBACK_REPORT_LEAKS");
  setenv("OUTBACK_TWIN", "no", 1);
  EXPECT_EQ(refusal({.name = "acme", .runtime = host_table()}),
            "OUTBACK_TWIN=no: expected auto or never");
  unsetenv("OUTBACK_TWIN");
  setenv("OUTBACK_FALLBACK", "maybe", 1);
  EXPECT_EQ(refusal({.name = "acme", .runtime = host_table()}),
            "OUTBACK_FALLBACK=maybe: expected allow, warn or error");
  unsetenv("OUTBACK_FALLBACK");
  static const outback_runtime unreadable = *host_table();
  detail::refuse_table(&unreadable, "A=b: expected c");
  EXPECT_EQ(refusal({.name = "acme", .runtime = &unreadable}),
            "cannot register acme: A=b: expected c");
  EXPECT_TRUE(nothing_is_registered());
}

TEST(RegistrationTest, TheFirstRegistrationStays) {
  register_backend(
      {.name = "acme", .runtime = host_table(), .amp_dtypes = {c10::kBFloat16, c10::kHalf}});
  ASSERT_TRUE(is_registered());
  EXPECT_EQ(at::autocast::get_autocast_dtype(privateuse1), c10::kBFloat16);
  // Not as one would have it, but PyTorch's, which has no place for a default of all threads.
  c10::ScalarType elsewhere{};
  std::thread([&] { elsewhere = at::autocast::get_autocast_dtype(privateuse1); }).join();
  EXPECT_EQ(elsewhere, c10::kHalf);
  EXPECT_EQ(refusal({.name = "acme", .runtime = host_table()}), "") << "the same again is fine";
  EXPECT_THAT(refusal({.name = "other", .runtime = host_table()}),
              HasSubstr("backend is acme already"));
  static const outback_runtime copy = *host_table();
  EXPECT_THAT(refusal({.name = "acme", .runtime = &copy}), HasSubstr("another runtime"));
  EXPECT_EQ(backend_name(), "acme");
  EXPECT_EQ(c10::get_privateuse1_backend(), "acme");
  EXPECT_EQ(c10::Device("acme:1"), c10::Device(privateuse1, 1));
}

}  // namespace
}  // namespace outback::test
