#include "tests/runtime/suite/suite.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include "outback/answer_check.hpp"
#include "tests/runtime/suite/options.hpp"

namespace outback::suite {
namespace {

std::string explanation() {
  const char* text = table().last_error(table().self);
  return text == nullptr ? "" : text;
}

// A handle that a call made.
template <class Handle>
void check_made(Handle handle, const char* slot) {
  if (handle == nullptr)
    throw std::runtime_error(std::string(slot) + ": answered ok and made null");
}

void poll_until_ready(const std::function<outback_status()>& query, const char* slot) {
  const auto end = std::chrono::steady_clock::now() + patience();
  for (;;) {
    const outback_status status = query();
    if (status != OUTBACK_NOT_READY) return check(status, slot);
    if (std::chrono::steady_clock::now() > end)
      throw std::runtime_error(std::string(slot) + ": not ready after " +
                               std::to_string(patience().count()) + " s");
    std::this_thread::yield();
  }
}

// Of a callback that a stream waits for: as long as the fills take on a device in software.
constexpr auto nap = std::chrono::milliseconds(8);

// Whether the runtime runs callbacks at all. What they have to keep is CallbackTest's to look at.
bool runs_callbacks() {
  static const bool answer = [] {
    if (table().callbacks == nullptr) return false;
    static std::atomic<bool> ran{false};
    const outback_status status = table().callbacks->enqueue(
        table().self, 0, [](void*) { ran.store(true); }, nullptr, nullptr);
    return status == OUTBACK_OK && table().device_sync(table().self, 0) == OUTBACK_OK && ran.load();
  }();
  return answer;
}

void blame(const std::string& problem, const char* slot) {
  if (problem.empty()) return;
  throw std::runtime_error(std::string(slot) + ": the runtime is wrong: it " + problem);
}

}  // namespace

std::string status_text(outback_status status) {
  switch (status) {
#define OUTBACK_X(name) \
  case name:            \
    return #name;
    OUTBACK_X(OUTBACK_OK)
    OUTBACK_X(OUTBACK_NOT_READY)
    OUTBACK_X(OUTBACK_INVALID_ARGUMENT)
    OUTBACK_X(OUTBACK_OUT_OF_MEMORY)
    OUTBACK_X(OUTBACK_DEVICE_LOST)
    OUTBACK_X(OUTBACK_UNSUPPORTED)
    OUTBACK_X(OUTBACK_INTERNAL)
#undef OUTBACK_X
    default:
      return "status " + std::to_string(status);
  }
}

std::string failure_text(outback_status status) {
  return status_text(status) + ": " + explanation();
}

void check(outback_status status, const char* slot) {
  if (status == OUTBACK_OK) return;
  throw std::runtime_error(std::string(slot) + ": " + failure_text(status));
}

void check_memory(const void* ptr, std::size_t size, const char* slot) {
  if (size != 0) blame(memory_problem(ptr, size, least_alignment), slot);
}

void check_reach(const void* ptr, std::size_t size, const char* slot) {
  if (size != 0) blame(reach_problem(ptr, size), slot);
}

testing::AssertionResult succeeds(const char* call, outback_status status) {
  if (status == OUTBACK_OK) return testing::AssertionSuccess();
  return testing::AssertionFailure() << call << "\n  " << failure_text(status);
}

testing::AssertionResult fails_with(const char* call, const char*, outback_status status,
                                    outback_status want) {
  if (status != want) {
    return testing::AssertionFailure()
           << call << "\n  " << status_text(status) << ", expected " << status_text(want)
           << (status == OUTBACK_OK ? "" : ": " + explanation());
  }
  if (explanation().empty())
    return testing::AssertionFailure() << call << "\n  failed, but last_error is empty";
  return testing::AssertionSuccess();
}

int32_t device_count() {
  int32_t count = -1;
  check(table().device_count(table().self, &count), "device_count");
  return count;
}

outback_device_info device_info(int32_t device) {
  outback_device_info info = {};
  info.struct_size = sizeof(info);
  check(table().device_info(table().self, device, &info), "device_info");
  return info;
}

std::size_t big() {
  constexpr uint64_t page = 4096;
  static const std::size_t size = std::max<uint64_t>(
      page, std::min(given_options().size, device_info().memory_size / 16) / page * page);
  return size;
}

bytes noise(std::size_t size, uint64_t seed) {
  bytes out(size);
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 0x1234567u;
  for (std::size_t i = 0; i < size; i += sizeof(state)) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    std::memcpy(&out[i], &state, std::min(sizeof(state), size - i));
  }
  return out;
}

bytes all(std::size_t size, int value) {
  return bytes(size, std::byte(value));
}

testing::AssertionResult same(const bytes& got, const bytes& want) {
  if (got.size() != want.size()) {
    return testing::AssertionFailure() << got.size() << " bytes, expected " << want.size();
  }
  // Mostly they are, and to find that out should not take longer than the copy did.
  if (got.empty() || std::memcmp(got.data(), want.data(), got.size()) == 0) {
    return testing::AssertionSuccess();
  }
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] == want[i]) continue;
    return testing::AssertionFailure()
           << "byte " << i << " of " << got.size() << " is " << std::to_integer<int>(got[i])
           << ", expected " << std::to_integer<int>(want[i]);
  }
  return testing::AssertionSuccess();
}

stream::stream(int32_t device) : device_(device) {
  check(table().streams->create(table().self, device, 0, &handle_), "streams.create");
  check_made(handle_, "streams.create");
}
stream::~stream() {
  if (handle_ != nullptr) table().streams->destroy(table().self, device_, handle_);
}
void stream::sync() {
  check(table().streams->sync(table().self, device_, handle_), "streams.sync");
}
void stream::poll() {
  poll_until_ready([&] { return table().streams->query(table().self, device_, handle_); },
                   "streams.query");
}
void stream::destroy() {
  check(table().streams->destroy(table().self, device_, std::exchange(handle_, nullptr)),
        "streams.destroy");
}

event::event(uint32_t flags, int32_t device) : device_(device) {
  check(table().events->create(table().self, device, flags, &handle_), "events.create");
  check_made(handle_, "events.create");
}
event::~event() {
  if (handle_ != nullptr) table().events->destroy(table().self, device_, handle_);
}
void event::record(outback_stream where) {
  check(table().events->record(table().self, device_, handle_, where), "events.record");
}
void event::wait(outback_stream waiting, int32_t device) {
  check(table().events->wait(table().self, device, handle_, waiting), "events.wait");
}
void event::sync() {
  check(table().events->sync(table().self, device_, handle_), "events.sync");
}
void event::poll() {
  poll_until_ready([&] { return table().events->query(table().self, device_, handle_); },
                   "events.query");
}
void event::destroy() {
  check(table().events->destroy(table().self, device_, std::exchange(handle_, nullptr)),
        "events.destroy");
}

memory::memory(std::size_t size, int32_t device) : size_(size), device_(device) {
  check(table().mem_alloc(table().self, device, size, &ptr_), "mem_alloc");
  check_memory(ptr_, size, "mem_alloc");
}
memory::memory(const bytes& content, int32_t device) : memory(content.size(), device) {
  write(content);
}
memory::~memory() {
  table().device_sync(table().self, device_);
  table().mem_free(table().self, device_, ptr_);
}
bytes memory::read() const {
  bytes out(size_);
  check(table().mem_copy(table().self, out.data(), OUTBACK_HOST, ptr_, device_, size_, nullptr),
        "mem_copy");
  check(table().device_sync(table().self, device_), "device_sync");
  return out;
}
bytes memory::ends(stream& s) const {
  bytes out(64);
  for (const std::size_t end : {0, 1}) {
    check(table().mem_copy(table().self, &out[end * 32], OUTBACK_HOST, at(end * (size_ - 32)),
                           device_, 32, s),
          "mem_copy");
  }
  s.sync();
  return out;
}
void memory::write(const bytes& content) {
  write(content, nullptr);
  check(table().device_sync(table().self, device_), "device_sync");
}
void memory::write(const bytes& content, outback_stream s) {
  check(table().mem_copy(table().self, ptr_, device_, content.data(), OUTBACK_HOST, content.size(),
                         s),
        "mem_copy");
}
void memory::fill(int value) {
  fill(value, nullptr);
  check(table().device_sync(table().self, device_), "device_sync");
}
void memory::fill(int value, outback_stream s) const {
  const auto byte = std::byte(value);
  check(table().mem_fill(table().self, device_, ptr_, size_, &byte, 1, s), "mem_fill");
}
void memory::copy_to(const memory& to, outback_stream s) const {
  check(table().mem_copy(table().self, to.ptr_, to.device_, ptr_, device_, size_, s), "mem_copy");
}

busy_work::busy_work(int32_t device, busy_by how)
    : device_(device), sleeps_(how == busy_by::sleeping && runs_callbacks()) {}
busy_work::~busy_work() {
  if (!scratch_.empty()) table().device_sync(table().self, device_);
}
void busy_work::enqueue(outback_stream s) {
  const memory& scratch = scratch_.try_emplace(s, big(), device_).first->second;
  if (sleeps_) {
    scratch.fill(1, s);
    check(table().callbacks->enqueue(
              table().self, device_, [](void*) { std::this_thread::sleep_for(nap); }, nullptr, s),
          "callbacks.enqueue");
    return scratch.fill(2, s);
  }
  // A runtime that works while it is called has done it by then: more would keep nothing busy.
  const auto enough = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  for (int i = 0; i < 16 && std::chrono::steady_clock::now() < enough; ++i) scratch.fill(i, s);
}
void busy_work::fill(const memory& target, int value, outback_stream s) {
  enqueue(s);
  target.fill(value, s);
}

void in_threads(int count, const std::function<void(int)>& body) {
  std::mutex mutex;
  std::exception_ptr first;
  std::vector<std::thread> threads;
  std::atomic<int> ready{0};
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      ready.fetch_add(1);
      while (ready.load() < count) std::this_thread::yield();
      try {
        body(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

}  // namespace outback::suite
