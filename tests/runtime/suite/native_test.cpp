// The driver's own objects, and streams that are made of them.
#include "tests/runtime/suite/suite.hpp"

namespace outback::suite {
namespace {

/// A second stream of a stream's queue.
class wrapped_stream {
 public:
  explicit wrapped_stream(void* native) {
    check(table().native->wrap_stream(table().self, 0, native, &handle_), "native.wrap_stream");
  }
  ~wrapped_stream() { EXPECT_OK(table().streams->destroy(table().self, 0, handle_)); }
  wrapped_stream(const wrapped_stream&) = delete;
  wrapped_stream& operator=(const wrapped_stream&) = delete;

  operator outback_stream() const { return handle_; }

 private:
  outback_stream handle_ = nullptr;
};

class NativeTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    if (!IsSkipped()) OUTBACK_NEEDS_GROUP(native);
  }

  static void* of(outback_stream s, int32_t device = 0) {
    void* handle = nullptr;
    check(table().native->stream(table().self, device, s, &handle), "native.stream");
    return handle;
  }

  busy_work busy_;
};

TEST_F(NativeTest, HandlesStayTheSame) {
  for (int32_t d = 0; d < device_count(); ++d) {
    void *first = nullptr, *second = nullptr;
    EXPECT_OK(table().native->device(table().self, d, &first));
    EXPECT_OK(table().native->device(table().self, d, &second));
    EXPECT_EQ(first, second);
    const outback_status status = table().native->context(table().self, d, &first);
    if (status != OUTBACK_UNSUPPORTED) {
      check(status, "native.context");
      EXPECT_OK(table().native->context(table().self, d, &second));
      EXPECT_EQ(first, second);
    }
  }
  stream a, b;
  EXPECT_EQ(of(a), of(a));
  EXPECT_NE(of(a), of(b));
  EXPECT_EQ(of(nullptr), of(nullptr));
  event e, f;
  void *first = nullptr, *again = nullptr, *other = nullptr;
  EXPECT_OK(table().native->event(table().self, 0, e, &first));
  EXPECT_OK(table().native->event(table().self, 0, e, &again));
  EXPECT_OK(table().native->event(table().self, 0, f, &other));
  EXPECT_EQ(first, again);
  EXPECT_NE(first, other);
}

TEST_F(NativeTest, AWrappedStreamIsTheSameQueue) {
  stream s;
  wrapped_stream wrapped(of(s));
  EXPECT_EQ(of(wrapped), of(s));
  memory data(big()), copy(big());
  for (int round = 1; round <= 3; ++round) {
    busy_.fill(data, round, s);
    data.copy_to(copy, wrapped);
    data.fill(100, s);
    EXPECT_OK(table().streams->sync(table().self, 0, wrapped));
    EXPECT_TRUE(same(copy.ends(s), all(64, round)));
    busy_.fill(data, round, wrapped);
    s.sync();
    stream other;
    EXPECT_TRUE(same(data.ends(other), all(64, round)));
  }
}

TEST_F(NativeTest, WrappedStreamsTakeEventsAndQueries) {
  stream s, reader;
  wrapped_stream wrapped(of(s));
  memory data(big()), copy(big());
  event e;
  busy_.fill(data, 5, s);
  e.record(wrapped);
  e.wait(reader);
  data.copy_to(copy, reader);
  EXPECT_TRUE(same(copy.ends(reader), all(64, 5)));
  s.sync();
  EXPECT_OK(table().streams->query(table().self, 0, wrapped));
}

TEST_F(NativeTest, TheOriginalOutlivesItsWrapper) {
  stream s;
  memory data(big());
  {
    wrapped_stream wrapped(of(s));
    busy_.fill(data, 1, wrapped);
  }
  data.fill(2, s);
  EXPECT_TRUE(same(data.ends(s), all(64, 2)));
}

}  // namespace
}  // namespace outback::suite
