// What the tests of the runtime suite share: the table under test, and owners for what it hands
// out.
//
// The suite is for any runtime, so a test relies on nothing but outback/runtime.h. Where it has to
// catch work that is done too early or too late, it first keeps a stream busy; on a device too fast
// for that the test still holds, it is only less sharp. Tests of one runtime's own promises live
// beside that runtime's name (host_runtime_test.cpp).
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "outback/runtime.h"

namespace outback::suite {

/// The table under test: whole, and absent groups are null. It passed `outback::table_problem`.
const outback_runtime& table();

/// Ends the test as "unsupported" unless `condition`. Reported apart from tests that passed.
#define OUTBACK_NEEDS(condition, what) \
  if (!(condition)) GTEST_SKIP() << "unsupported: needs " what

#define OUTBACK_NEEDS_GROUP(group) OUTBACK_NEEDS(table().group != nullptr, #group)
#define OUTBACK_NEEDS_TWO_DEVICES() OUTBACK_NEEDS(device_count() >= 2, "two devices")

/// The base of every test. There is a device, and it says what can be: see first_contact.hpp.
class RuntimeTest : public testing::Test {};

/// OUTBACK_INTERNAL as text, or "status 42" for what is none.
std::string status_text(outback_status status);
/// The same, and the runtime's explanation.
std::string failure_text(outback_status status);

/// Throws, with the runtime's explanation, unless `status` is OUTBACK_OK: for calls that a test
/// only builds on.
void check(outback_status status, const char* slot);

/// Throws unless `ptr`, which `slot` answered for `size` bytes, can be memory.
void check_memory(const void* ptr, std::size_t size, const char* slot);
/// The same of memory that the CPU is to reach, before it does.
void check_reach(const void* ptr, std::size_t size, const char* slot);

/// For EXPECT_PRED_FORMAT1: the status is OUTBACK_OK.
testing::AssertionResult succeeds(const char* call, outback_status status);
#define EXPECT_OK(call) EXPECT_PRED_FORMAT1(::outback::suite::succeeds, call)

/// Calls fail with `want`, and explain it.
testing::AssertionResult fails_with(const char* call, const char*, outback_status status,
                                    outback_status want);
#define EXPECT_FAILS(call, want) EXPECT_PRED_FORMAT2(::outback::suite::fails_with, call, want)

int32_t device_count();
outback_device_info device_info(int32_t device = 0);

/// Enough bytes for a copy or fill to take a while: 8 MiB, or what --size says, or less on a small
/// device. No test takes more for one piece of memory that it copies or fills.
std::size_t big();

using bytes = std::vector<std::byte>;

/// `size` bytes that differ from place to place and from seed to seed.
bytes noise(std::size_t size, uint64_t seed);
/// `size` bytes of `value`.
bytes all(std::size_t size, int value);
/// Equal, or the first place where they are not.
testing::AssertionResult same(const bytes& got, const bytes& want);

/// A stream of its own.
class stream {
 public:
  explicit stream(int32_t device = 0);
  ~stream();
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;

  operator outback_stream() const { return handle_; }
  void sync();
  /// Asks until the work is done; throws after a minute.
  void poll();
  void destroy();

 private:
  int32_t device_;
  outback_stream handle_ = nullptr;
};

class event {
 public:
  explicit event(uint32_t flags = 0, int32_t device = 0);
  ~event();
  event(const event&) = delete;
  event& operator=(const event&) = delete;

  operator outback_event() const { return handle_; }
  void record(outback_stream where);
  /// `waiting` is a stream of `device`.
  void wait(outback_stream waiting, int32_t device = 0);
  void sync();
  void poll();
  void destroy();

 private:
  int32_t device_;
  outback_event handle_ = nullptr;
};

/// Device memory. What takes no stream uses the default one and waits for the device.
class memory {
 public:
  explicit memory(std::size_t size, int32_t device = 0);
  explicit memory(const bytes& content, int32_t device = 0);
  ~memory();
  memory(const memory&) = delete;
  memory& operator=(const memory&) = delete;

  void* at(std::size_t offset = 0) const { return static_cast<std::byte*>(ptr_) + offset; }
  std::size_t size() const { return size_; }
  int32_t device() const { return device_; }

  bytes read() const;
  /// The first and the last 32 bytes, enqueued on `s` and waited for there: fast enough to come too
  /// early if `s` did not wait for who writes them.
  bytes ends(stream& s) const;
  void write(const bytes& content);
  void write(const bytes& content, outback_stream s);
  void fill(int value);
  void fill(int value, outback_stream s) const;
  /// To `to`, on a stream of this memory's device.
  void copy_to(const memory& to, outback_stream s) const;

 private:
  void* ptr_ = nullptr;
  std::size_t size_;
  int32_t device_;
};

/// How work passes the time.
enum class busy_by {
  sleeping,  // a callback sleeps between two fills; by filling where callbacks are absent or do not
             // run
  filling    // fills alone: for tests of what callbacks are built on, and of callbacks
};

/// Work that takes a while, on memory of its own. It must outlive that work: make it before the
/// streams, and outside of captures. On a device in software, fills keep a core of the machine from
/// whoever waits for them, and sleep does not.
class busy_work {
 public:
  explicit busy_work(int32_t device = 0, busy_by how = busy_by::sleeping);
  explicit busy_work(busy_by how) : busy_work(0, how) {}
  ~busy_work();
  void enqueue(outback_stream s);
  /// Fills `target`, a while later. `target` is of the same device.
  void fill(const memory& target, int value, outback_stream s);

 private:
  int32_t device_;
  bool sleeps_;
  std::map<outback_stream, memory> scratch_;  // one for each stream: they work at the same time
};

/// Runs `body(i)` in `count` threads at once, and throws what the first to fail threw.
void in_threads(int count, const std::function<void(int)>& body);

}  // namespace outback::suite
