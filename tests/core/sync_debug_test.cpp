// Calls that wait for the device are reported, in C++ too.
#include "backend_template/core/streams/sync_debug.h"

#include <ATen/ops/ones.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>

#include "backend_template/core/streams/stream.h"
#include "tests/core/test_backend.h"

namespace outback::test {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class SyncDebugTest : public BackendTest {
 protected:
  ~SyncDebugTest() override { core::set_sync_debug_mode(core::sync_debug_mode::off); }
};

TEST_F(SyncDebugTest, ItemAndStreamSynchronizeFailInModeError) {
  const at::Tensor one = at::ones({1}, device(0));
  const c10::Stream stream = core::current_stream(0);
  EXPECT_EQ(one.item<float>(), 1);
  core::set_sync_debug_mode(core::sync_debug_mode::error);
  EXPECT_EQ(core::get_sync_debug_mode(), core::sync_debug_mode::error);
  const auto words = ThrowsMessage<c10::Error>(HasSubstr("called a synchronizing acme operation"));
  EXPECT_THAT([&] { one.item(); }, words);
  EXPECT_THAT([&] { stream.synchronize(); }, words);
  EXPECT_THAT([&] { one.cpu(); }, words);
  core::synchronize_device(0);
  core::set_sync_debug_mode(core::sync_debug_mode::off);
  stream.synchronize();
}

TEST_F(SyncDebugTest, AModeThatAnotherThreadSetsMeanwhileMakesNoErrorOfAWarning) {
  core::set_sync_debug_mode(core::sync_debug_mode::off);
  EXPECT_NO_THROW(core::detail::report_synchronizing(core::sync_debug_mode::warn));
  EXPECT_ANY_THROW(core::detail::report_synchronizing(core::sync_debug_mode::error));
}

}  // namespace
}  // namespace outback::test
