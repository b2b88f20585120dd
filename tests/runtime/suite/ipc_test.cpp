// Memory and events that two processes share.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/runtime/suite/other_process.hpp"
#include "tests/runtime/suite/suite.hpp"

namespace outback::suite {
namespace {

constexpr uint32_t interprocess = OUTBACK_EVENT_INTERPROCESS;

const outback_ipc& ipc() {
  return *table().ipc;
}

outback_ipc_handle empty_handle() {
  outback_ipc_handle handle = {};
  handle.struct_size = sizeof(handle);
  handle.fd = -1;
  return handle;
}

outback_ipc_handle handle_of(const memory& data) {
  outback_ipc_handle handle = empty_handle();
  check(ipc().get_memory(table().self, data.device(), data.at(), &handle), "ipc.get_memory");
  return handle;
}

outback_ipc_handle handle_of(const event& e) {
  outback_ipc_handle handle = empty_handle();
  check(ipc().get_event(table().self, 0, e, &handle), "ipc.get_event");
  return handle;
}

void close_descriptor(const outback_ipc_handle& handle) {
  if (handle.fd >= 0) close(handle.fd);
}

void send_handle(line& to, const outback_ipc_handle& handle) {
  to.send(handle, handle.fd);
  close_descriptor(handle);
}

outback_ipc_handle receive_handle(line& from) {
  int fd = -1;
  outback_ipc_handle handle = from.receive<outback_ipc_handle>(&fd);
  handle.fd = fd;
  return handle;
}

std::vector<std::size_t> shared_sizes() {
  return {100, 70'001, big()};
}

void expect(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error("expected: " + what);
}

/// Memory of the other process, on device 0.
class opened_memory {
 public:
  opened_memory(line& from, std::size_t size) : size_(size) {
    const outback_ipc_handle handle = receive_handle(from);
    check(ipc().open_memory(table().self, 0, &handle, &ptr_), "ipc.open_memory");
    check(ipc().open_memory(table().self, 0, &handle, &again_), "ipc.open_memory");
    close_descriptor(handle);
  }
  ~opened_memory() {
    table().device_sync(table().self, 0);
    if (ptr_ != nullptr) ipc().close_memory(table().self, 0, ptr_);
  }
  opened_memory(const opened_memory&) = delete;
  opened_memory& operator=(const opened_memory&) = delete;

  bool opened_twice_is_the_same() const { return ptr_ == again_; }
  /// Once of the two times.
  void close_again() const { check(ipc().close_memory(table().self, 0, again_), "close_memory"); }
  void* at() const { return ptr_; }

  bytes read(outback_stream s = nullptr) const {
    bytes out(size_);
    check(table().mem_copy(table().self, out.data(), OUTBACK_HOST, ptr_, 0, size_, s), "mem_copy");
    check(table().streams->sync(table().self, 0, s), "streams.sync");
    return out;
  }
  void fill(int value, outback_stream s = nullptr) const {
    const auto byte = std::byte(value);
    check(table().mem_fill(table().self, 0, ptr_, size_, &byte, 1, s), "mem_fill");
  }

 private:
  std::size_t size_;
  void* ptr_ = nullptr;
  void* again_ = nullptr;
};

class opened_event {
 public:
  explicit opened_event(line& from) {
    const outback_ipc_handle handle = receive_handle(from);
    check(ipc().open_event(table().self, 0, &handle, &handle_), "ipc.open_event");
    close_descriptor(handle);
  }
  ~opened_event() { check(table().events->destroy(table().self, 0, handle_), "events.destroy"); }
  opened_event(const opened_event&) = delete;
  opened_event& operator=(const opened_event&) = delete;

  operator outback_event() const { return handle_; }

 private:
  outback_event handle_ = nullptr;
};

// ---- What the other process does.

void reads_and_writes(line& parent) {
  for (const std::size_t size : shared_sizes()) {
    {
      const opened_memory data(parent, size);
      expect(data.opened_twice_is_the_same(), "opened twice is the same pointer");
      expect(same(data.read(), noise(size, 1)), "what the owner wrote");
      data.close_again();
      data.fill(7);
      expect(same(data.read(), all(size, 7)), "what was filled, closed once of two times");
      check(table().device_sync(table().self, 0), "device_sync");
      parent.send('f');
      parent.receive<char>();  // the owner has written again
      expect(same(data.read(), noise(size, 2)), "what the owner wrote later");
      if (table().host_memory != nullptr) {
        outback_pointer_info info = {};
        info.struct_size = sizeof(info);
        check(table().host_memory->info(table().self, data.at(), &info), "host_memory.info");
        expect(info.device == 0 && info.pinned == 0, "opened memory is the device's");
      }
    }
    parent.send('c');  // closed: it may go
  }
}
OUTBACK_ROLE(reads_and_writes);

void waits_for_the_events_of_its_parent(line& parent) {
  stream s;
  const opened_memory data(parent, big());
  data.close_again();
  const opened_event e(parent);
  for (int round = 1; round <= 3; ++round) {
    parent.receive<char>();  // recorded
    if (round == 1) {
      check(table().events->sync(table().self, 0, e), "events.sync");
    } else {
      check(table().events->wait(table().self, 0, e, s), "events.wait");
    }
    expect(same(data.read(s), all(big(), round)), "what was written before the event");
    parent.send('r');
  }
}
OUTBACK_ROLE(waits_for_the_events_of_its_parent);

void records_for_its_parent(line& parent) {
  busy_work busy;
  stream s;
  const opened_memory data(parent, big());
  data.close_again();
  const opened_event e(parent);
  for (int round = 1; round <= 3; ++round) {
    busy.enqueue(s);
    data.fill(round, s);
    check(table().events->record(table().self, 0, e, s), "events.record");
    parent.send('r');
    parent.receive<char>();  // read
  }
  check(table().streams->sync(table().self, 0, s), "streams.sync");
}
OUTBACK_ROLE(records_for_its_parent);

// ---- The tests.

class IpcTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    if (!IsSkipped()) OUTBACK_NEEDS_GROUP(ipc);
  }
  static constexpr outback_status bad = OUTBACK_INVALID_ARGUMENT;
};

TEST_F(IpcTest, AnotherProcessReadsAndWritesTheSameBytes) {
  other_process other("reads_and_writes");
  for (const std::size_t size : shared_sizes()) {
    SCOPED_TRACE(size);
    memory data(noise(size, 1));
    send_handle(other.to(), handle_of(data));
    other.to().receive<char>();
    EXPECT_TRUE(same(data.read(), all(size, 7)));
    data.write(noise(size, 2));
    other.to().send('w');
    other.to().receive<char>();
  }
  EXPECT_TRUE(other.succeeded());
}

// So that the other process comes to wait before the work is done, also on a machine that is busy.
void stay_behind(outback_stream s) {
  if (table().callbacks == nullptr) return;
  const auto sleep = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(100)); };
  check(table().callbacks->enqueue(table().self, 0, sleep, nullptr, s), "callbacks.enqueue");
}

TEST_F(IpcTest, AnotherProcessWaitsForAnEvent) {
  busy_work busy;
  stream s;
  memory data(big());
  event e(interprocess);
  other_process other("waits_for_the_events_of_its_parent");
  send_handle(other.to(), handle_of(data));
  send_handle(other.to(), handle_of(e));
  for (int round = 1; round <= 3; ++round) {
    stay_behind(s);
    busy.fill(data, round, s);
    e.record(s);
    other.to().send('r');
    other.to().receive<char>();
  }
  EXPECT_TRUE(other.succeeded());
}

TEST_F(IpcTest, AnotherProcessRecordsAnEvent) {
  stream s;
  memory data(big());
  event e(interprocess);
  other_process other("records_for_its_parent");
  send_handle(other.to(), handle_of(data));
  send_handle(other.to(), handle_of(e));
  for (int round = 1; round <= 3; ++round) {
    other.to().receive<char>();
    if (round == 1) {
      e.wait(s);
    } else if (round == 2) {
      e.sync();
    } else {
      e.poll();
    }
    EXPECT_TRUE(same(data.ends(s), all(64, round)));
    other.to().send('r');
  }
  EXPECT_TRUE(other.succeeded());
}

TEST_F(IpcTest, AnInterprocessEventIsAnEvent) {
  busy_work busy;
  stream writer, reader;
  memory data(big()), copy(big());
  event e(interprocess);
  EXPECT_OK(table().events->query(table().self, 0, e));
  EXPECT_OK(table().events->sync(table().self, 0, e));
  for (int round = 1; round <= 3; ++round) {
    busy.fill(data, round, writer);
    e.record(writer);
    e.wait(reader);
    data.copy_to(copy, reader);
    EXPECT_TRUE(same(copy.ends(reader), all(64, round)));
  }
}

TEST_F(IpcTest, ItsOwnMemoryIsNotOpened) {
  memory data(noise(1000, 1));
  const outback_ipc_handle handle = handle_of(data);
  int marker = 0;
  void* ptr = &marker;
  EXPECT_FAILS(ipc().open_memory(table().self, 0, &handle, &ptr), bad);
  EXPECT_EQ(ptr, &marker);
  EXPECT_TRUE(same(data.read(), noise(1000, 1)));
  close_descriptor(handle);
}

TEST_F(IpcTest, SharingKeepsTheContent) {
  for (const std::size_t size : {std::size_t(1), std::size_t(4096), std::size_t(100'003), big()}) {
    memory data(noise(size, size)), neighbour(noise(size, 2));
    for (int times = 0; times < 2; ++times) close_descriptor(handle_of(data));
    EXPECT_TRUE(same(data.read(), noise(size, size)));
    EXPECT_TRUE(same(neighbour.read(), noise(size, 2)));
  }
}

// Set when the scope ends, however it ends.
struct set_at_end {
  std::atomic<bool>& flag;
  ~set_at_end() { flag = true; }
};

// A stream writes to an allocation while another thread shares it: so it is if a framework divides
// an allocation among tensors, and sends one of them.
TEST_F(IpcTest, SharingLosesNoWriteOfNeighbours) {
  constexpr std::size_t word = 64;  // bytes
  const std::size_t piece = big() / 4;
  const memory data(big()), source(piece);
  stream s;
  std::vector<int> written;  // by word from the beginning of the data
  // A number goes to the end of the data, and from there to the next word of its beginning.
  const auto write = [&] {
    const std::size_t place = written.size() * word;
    written.push_back(int(written.size() % 250) + 1);
    source.fill(written.back(), s);
    check(table().mem_copy(table().self, data.at(big() - piece), 0, source.at(), 0, piece, s),
          "mem_copy");
    check(table().mem_copy(table().self, data.at(place), 0, data.at(big() - word), 0, word, s),
          "mem_copy");
    check(table().streams->sync(table().self, 0, s), "streams.sync");
  };
  std::vector<outback_ipc_handle> handles;
  std::atomic<bool> begun = false, shared = false;
  in_threads(2, [&](int thread) {
    if (thread == 0) {
      const set_at_end always{begun};
      for (; !shared && written.size() * word < big() / 2; begun = true) write();
      write();
    } else {
      const set_at_end always{shared};
      while (!begun) std::this_thread::yield();
      for (int times = 0; times < 3; ++times) handles.push_back(handle_of(data));
    }
  });
  for (const outback_ipc_handle& handle : handles) close_descriptor(handle);
  const bytes found = data.read();
  for (std::size_t i = 0; i < written.size(); ++i) {
    const auto at = found.begin() + std::ptrdiff_t(i * word);
    ASSERT_TRUE(same(bytes(at, at + word), all(word, written[i]))) << "number " << i;
  }
  const bytes end(found.end() - std::ptrdiff_t(piece), found.end());
  EXPECT_TRUE(same(end, all(piece, written.back())));
}

TEST_F(IpcTest, EventsNeedTheFlagAndNoTime) {
  event local;
  outback_ipc_handle handle = empty_handle();
  EXPECT_FAILS(ipc().get_event(table().self, 0, local, &handle), bad);
  EXPECT_EQ(handle.size, 0u);
  outback_event e = nullptr;
  EXPECT_FAILS(table().events->create(table().self, 0, interprocess | OUTBACK_EVENT_TIMING, &e),
               bad);
  EXPECT_EQ(e, nullptr);
}

TEST_F(IpcTest, HandlesThatAreCutAreRefused) {
  memory data(64);
  const outback_ipc_handle good = handle_of(data);
  outback_ipc_handle cut = good;
  cut.struct_size = offsetof(outback_ipc_handle, bytes);
  void* ptr = nullptr;
  outback_event e = nullptr;
  EXPECT_FAILS(ipc().open_memory(table().self, 0, &cut, &ptr), bad);
  EXPECT_FAILS(ipc().open_event(table().self, 0, &cut, &e), bad);
  EXPECT_FAILS(ipc().get_memory(table().self, 0, data.at(), &cut), bad);
  EXPECT_EQ(ptr, nullptr);
  EXPECT_EQ(e, nullptr);
  close_descriptor(good);
}

}  // namespace
}  // namespace outback::suite
