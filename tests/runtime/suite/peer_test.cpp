// Direct access of one device to another's memory.
#include "tests/runtime/suite/suite.hpp"

namespace outback::suite {
namespace {

class PeerTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    if (IsSkipped()) return;
    OUTBACK_NEEDS_GROUP(peer);
  }

  static int32_t can_access(int32_t device, int32_t peer) {
    int32_t can = -1;
    check(table().peer->can_access(table().self, device, peer, &can), "peer.can_access");
    return can;
  }
};

TEST_F(PeerTest, ADeviceIsNoPeerOfItself) {
  for (int32_t d = 0; d < device_count(); ++d) {
    EXPECT_EQ(can_access(d, d), 0);
    EXPECT_FAILS(table().peer->enable(table().self, d, d), OUTBACK_INVALID_ARGUMENT);
    EXPECT_FAILS(table().peer->disable(table().self, d, d), OUTBACK_INVALID_ARGUMENT);
  }
}

TEST_F(PeerTest, PeersAreEnabledAndDisabledAgain) {
  OUTBACK_NEEDS_TWO_DEVICES();
  const int32_t can = can_access(0, 1);
  ASSERT_TRUE(can == 0 || can == 1) << can;
  if (can == 0) {
    EXPECT_FAILS(table().peer->enable(table().self, 0, 1), OUTBACK_UNSUPPORTED);
    return;
  }
  EXPECT_OK(table().peer->disable(table().self, 0, 1));  // never enabled
  EXPECT_OK(table().peer->enable(table().self, 0, 1));
  EXPECT_OK(table().peer->enable(table().self, 0, 1));
  EXPECT_OK(table().peer->disable(table().self, 0, 1));
  EXPECT_OK(table().peer->disable(table().self, 0, 1));
}

TEST_F(PeerTest, CopiesNeedNoPeers) {
  OUTBACK_NEEDS_TWO_DEVICES();
  memory from(noise(big(), 1), 0), to(big(), 1);
  const auto copied = [&] {
    to.fill(0);
    from.copy_to(to, nullptr);
    check(table().device_sync(table().self, 0), "device_sync");
    return same(to.read(), noise(big(), 1));
  };
  EXPECT_TRUE(copied());
  if (can_access(0, 1) == 0) return;
  check(table().peer->enable(table().self, 0, 1), "peer.enable");
  EXPECT_TRUE(copied());
  check(table().peer->disable(table().self, 0, 1), "peer.disable");
  EXPECT_TRUE(copied());
}

}  // namespace
}  // namespace outback::suite
