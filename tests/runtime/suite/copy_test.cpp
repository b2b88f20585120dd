// Copies in every direction, of every size and alignment, and when their memory may be used again.
#include <algorithm>

#include "tests/runtime/suite/suite.hpp"

namespace outback::suite {
namespace {

class CopyTest : public RuntimeTest {
 protected:
  static std::vector<std::size_t> sizes() {
    std::vector<std::size_t> all = {
        1, 2, 3, 7, 8, 9, 63, 64, 65, 4095, 4096, 4097, 65537, (1 << 20) + 3, big()};
    std::erase_if(all, [](std::size_t size) { return size > big(); });
    return all;
  }

  static void copy(void* dst, int32_t dst_device, const void* src, int32_t src_device,
                   std::size_t size, outback_stream s = nullptr) {
    check(table().mem_copy(table().self, dst, dst_device, src, src_device, size, s), "mem_copy");
  }
};

TEST_F(CopyTest, RoundTripOfEverySize) {
  for (const std::size_t size : sizes()) {
    SCOPED_TRACE(size);
    EXPECT_TRUE(same(memory(noise(size, size)).read(), noise(size, size)));
  }
}

TEST_F(CopyTest, WithinADeviceOfEverySize) {
  for (const std::size_t size : sizes()) {
    SCOPED_TRACE(size);
    memory from(noise(size, size)), to(size);
    from.copy_to(to, nullptr);
    EXPECT_TRUE(same(to.read(), noise(size, size)));
  }
}

TEST_F(CopyTest, BetweenDevicesOfEverySize) {
  OUTBACK_NEEDS_TWO_DEVICES();
  for (const std::size_t size : sizes()) {
    SCOPED_TRACE(size);
    memory there(noise(size, size), 0), back(size, 1);
    there.copy_to(back, nullptr);
    check(table().device_sync(table().self, 0), "device_sync");
    EXPECT_TRUE(same(back.read(), noise(size, size)));
    back.fill(0);
    memory home(size, 0);
    there.copy_to(back, nullptr);
    check(table().device_sync(table().self, 0), "device_sync");
    back.copy_to(home, nullptr);  // the stream is now the other device's
    check(table().device_sync(table().self, 1), "device_sync");
    EXPECT_TRUE(same(home.read(), noise(size, size)));
  }
}

// Both sides unaligned, and nothing beside the range changes.
TEST_F(CopyTest, UnalignedRanges) {
  constexpr std::size_t room = 600;
  const bytes content = noise(room, 1), blank = all(room, 0xaa);
  for (const std::size_t from : {0, 1, 3, 8, 13}) {
    for (const std::size_t to : {0, 1, 5, 16, 31}) {
      for (const std::size_t size : {1, 5, 64, 511}) {
        SCOPED_TRACE(testing::Message() << size << " bytes from " << from << " to " << to);
        bytes expected = blank;
        std::copy_n(content.begin() + std::ptrdiff_t(from), size,
                    expected.begin() + std::ptrdiff_t(to));

        memory source(content), target(blank);
        copy(target.at(to), 0, source.at(from), 0, size);
        EXPECT_TRUE(same(target.read(), expected)) << "within the device";

        target.write(blank);
        copy(target.at(to), 0, content.data() + from, OUTBACK_HOST, size);
        EXPECT_TRUE(same(target.read(), expected)) << "from the host";

        bytes host = blank;
        copy(host.data() + to, OUTBACK_HOST, source.at(from), 0, size);
        check(table().device_sync(table().self, 0), "device_sync");
        EXPECT_TRUE(same(host, expected)) << "to the host";
      }
    }
  }
}

TEST_F(CopyTest, ZeroBytesChangeNothing) {
  memory data(all(64, 1)), other(all(64, 2));
  bytes host = all(64, 3);
  copy(data.at(), 0, other.at(), 0, 0);
  copy(data.at(), 0, host.data(), OUTBACK_HOST, 0);
  copy(host.data(), OUTBACK_HOST, data.at(), 0, 0);
  copy(nullptr, 0, nullptr, 0, 0);
  EXPECT_TRUE(same(data.read(), all(64, 1)));
  EXPECT_TRUE(same(host, all(64, 3)));
}

TEST_F(CopyTest, HostToHostIsRefused) {
  bytes from = all(64, 1), to = all(64, 2);
  EXPECT_FAILS(table().mem_copy(table().self, to.data(), OUTBACK_HOST, from.data(), OUTBACK_HOST,
                                64, nullptr),
               OUTBACK_INVALID_ARGUMENT);
  EXPECT_TRUE(same(to, all(64, 2)));
}

TEST_F(CopyTest, APageableSourceMayBeReusedOnReturn) {
  busy_work busy(busy_by::filling);
  for (const std::size_t size : sizes()) {
    SCOPED_TRACE(size);
    memory data(size);
    bytes host = noise(size, size);
    busy.enqueue(nullptr);
    data.write(host, nullptr);
    std::fill(host.begin(), host.end(), std::byte{0xff});
    EXPECT_TRUE(same(data.read(), noise(size, size)));
  }
}

// In order on one stream, whatever the directions: no wait in between.
TEST_F(CopyTest, DirectionsKeepTheirOrder) {
  busy_work busy(busy_by::filling);
  for (const std::size_t size : sizes()) {
    SCOPED_TRACE(size);
    memory a(size), b(size);
    bytes first(size), second(size);
    busy.enqueue(nullptr);
    a.write(noise(size, 1), nullptr);
    a.copy_to(b, nullptr);
    copy(first.data(), OUTBACK_HOST, b.at(), 0, size);
    a.write(noise(size, 2), nullptr);
    a.copy_to(b, nullptr);
    copy(second.data(), OUTBACK_HOST, b.at(), 0, size);
    a.fill(0, nullptr);
    b.fill(0, nullptr);
    check(table().device_sync(table().self, 0), "device_sync");
    EXPECT_TRUE(same(first, noise(size, 1)));
    EXPECT_TRUE(same(second, noise(size, 2)));
  }
}

}  // namespace
}  // namespace outback::suite
