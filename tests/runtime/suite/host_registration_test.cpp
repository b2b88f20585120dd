// Host memory of others that becomes pinned.
#include <cstdlib>
#include <memory>

#include "tests/runtime/suite/suite.hpp"

namespace outback::suite {
namespace {

class HostRegistrationTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    if (!IsSkipped()) OUTBACK_NEEDS_GROUP(host_registration);
  }

  static constexpr std::size_t page = 4096;  // drivers pin pages
  static constexpr outback_status bad = OUTBACK_INVALID_ARGUMENT;

  struct freeing {
    void operator()(std::byte* ptr) const { std::free(ptr); }
  };
  const std::unique_ptr<std::byte, freeing> owned_{
      static_cast<std::byte*>(std::aligned_alloc(page, 16 * page))};
  std::byte* const host_ = owned_.get();

  static outback_status add(void* ptr, std::size_t size) {
    return table().host_registration->add(table().self, ptr, size);
  }
  static outback_status remove(void* ptr) {
    return table().host_registration->remove(table().self, ptr);
  }
  static outback_pointer_info info(const void* ptr) {
    outback_pointer_info out = {};
    out.struct_size = sizeof(out);
    check(table().host_memory->info(table().self, ptr, &out), "host_memory.info");
    return out;
  }
};

TEST_F(HostRegistrationTest, MemoryIsPinnedFromThenOn) {
  EXPECT_EQ(info(host_ + page).pinned, 0);
  EXPECT_OK(add(host_ + page, 2 * page));
  for (const std::size_t offset : {page, page + 1, 3 * page - 1}) {
    const outback_pointer_info known = info(host_ + offset);
    EXPECT_EQ(known.device, OUTBACK_HOST);
    EXPECT_EQ(known.pinned, 1);
    EXPECT_EQ(known.base, host_ + page);
    EXPECT_EQ(known.size, 2 * page);
  }
  EXPECT_EQ(info(host_).pinned, 0);
  EXPECT_EQ(info(host_ + 3 * page).pinned, 0);
  EXPECT_OK(remove(host_ + page));
  EXPECT_EQ(info(host_ + page).pinned, 0);
  EXPECT_OK(add(host_, page));  // and may be added anew
  EXPECT_OK(remove(host_));
}

TEST_F(HostRegistrationTest, CopiesGoBothWays) {
  const std::size_t size = 16 * page;
  EXPECT_OK(add(host_, size));
  const bytes content = noise(size, 1);
  std::copy(content.begin(), content.end(), host_);
  memory data(size);
  EXPECT_OK(table().mem_copy(table().self, data.at(), 0, host_, OUTBACK_HOST, size, nullptr));
  EXPECT_OK(table().device_sync(table().self, 0));
  EXPECT_TRUE(same(data.read(), content));
  data.fill(3);
  EXPECT_OK(table().mem_copy(table().self, host_, OUTBACK_HOST, data.at(), 0, size, nullptr));
  EXPECT_OK(table().device_sync(table().self, 0));
  EXPECT_TRUE(same(bytes(host_, host_ + size), all(size, 3)));
  EXPECT_OK(remove(host_));
}

TEST_F(HostRegistrationTest, WhatIsPinnedIsNotPinnedTwice) {
  EXPECT_OK(add(host_ + 4 * page, 4 * page));
  EXPECT_FAILS(add(host_ + 4 * page, 4 * page), bad);
  EXPECT_FAILS(add(host_ + 5 * page, page), bad);
  EXPECT_FAILS(add(host_ + 2 * page, 3 * page), bad);
  EXPECT_FAILS(add(host_ + 7 * page, 2 * page), bad);
  EXPECT_FAILS(add(host_, 16 * page), bad);
  EXPECT_OK(add(host_ + 3 * page, page));  // neighbours
  EXPECT_OK(add(host_ + 8 * page, page));
  for (const std::size_t at : {3, 4, 8}) EXPECT_OK(remove(host_ + at * page));
  void* pinned = nullptr;
  check(table().host_memory->alloc(table().self, 2 * page, &pinned), "host_memory.alloc");
  EXPECT_FAILS(add(pinned, page), bad);
  EXPECT_OK(table().host_memory->free(table().self, pinned));
}

TEST_F(HostRegistrationTest, OnlyWhatWasAddedIsRemoved) {
  EXPECT_FAILS(remove(host_), bad);
  EXPECT_OK(add(host_, 2 * page));
  EXPECT_FAILS(remove(host_ + page), bad);
  EXPECT_EQ(info(host_).pinned, 1);
  EXPECT_OK(remove(host_));
  EXPECT_FAILS(remove(host_), bad);
}

TEST_F(HostRegistrationTest, NothingIsNotAdded) {
  EXPECT_FAILS(add(nullptr, page), bad);
  EXPECT_FAILS(add(host_, 0), bad);
  EXPECT_FAILS(remove(nullptr), bad);
}

}  // namespace
}  // namespace outback::suite
