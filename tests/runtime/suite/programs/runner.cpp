#include "tests/runtime/suite/programs/runner.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "tests/runtime/suite/options.hpp"
#include "tests/runtime/suite/programs/model.hpp"
#include "tests/runtime/suite/suite.hpp"

namespace outback::suite {
namespace {

/// Ends a run.
struct wrong {
  std::string text;
};

/// What a callback writes, and how often it did. Stays until the runtime is surely done with it.
struct callback_work {
  std::byte* to;
  operation o;
  std::atomic<int> runs{0};

  static void run(void* data) {
    auto& work = *static_cast<callback_work*>(data);
    write_noise(work.to, work.o);
    work.runs.fetch_add(1);
  }
};

class runner {
 public:
  explicit runner(const program& p) : program_(p), answers_(predict(p)) {}

  ~runner() {
    for (int32_t d = 0; d < program_.on.devices; ++d) t_.device_sync(t_.self, d);
    for (const auto& [number, e] : events_) t_.events->destroy(t_.self, e.device, e.handle);
    for (const auto& [number, s] : streams_) {
      if (s.handle != nullptr) t_.streams->destroy(t_.self, s.device, s.handle);
    }
    for (const auto& [number, b] : buffers_) release(b);
  }
  runner(const runner&) = delete;
  runner& operator=(const runner&) = delete;

  std::optional<mismatch> run() {
    std::size_t i = 0;
    try {
      for (int32_t d = 0; d < program_.on.devices; ++d) streams_[d] = {d, nullptr};
      for (; i < program_.operations.size(); ++i) run(program_.operations[i], answers_[i]);
      for (int32_t d = 0; d < program_.on.devices; ++d) {
        must(t_.device_sync(t_.self, d), "device_sync");
      }
      for (const callback_work& work : callbacks_) {
        if (work.runs != 1) {
          throw wrong{"a callback ran " + std::to_string(work.runs.load()) + " times"};
        }
      }
    } catch (const wrong& what) {
      leak_what_may_be_written();
      return mismatch{i, what.text};
    }
    return std::nullopt;
  }

 private:
  struct stream_made {
    int32_t device = 0;
    outback_stream handle = nullptr;
  };
  struct event_made {
    int32_t device = 0;
    outback_event handle = nullptr;
    bool was_ready = false;  // since it was last recorded
  };
  struct buffer_made {
    int32_t place = 0;
    std::byte* bytes = nullptr;
  };

  static void must(outback_status status, const char* slot) {
    if (status == OUTBACK_OK) return;
    throw wrong{std::string(slot) + " answered " + failure_text(status)};
  }

  static void until_ready(const std::function<outback_status()>& query, const char* slot) {
    const auto begin = std::chrono::steady_clock::now(), end = begin + patience() / 3;
    for (;;) {
      const outback_status status = query();
      if (status != OUTBACK_NOT_READY) return must(status, slot);
      const auto now = std::chrono::steady_clock::now();
      if (now > end)
        throw wrong{std::string(slot) + ": not ready after " +
                    std::to_string(patience().count() / 3) + " s"};
      // At once at first, to see what is ready too early; later without the core of a thread that
      // works, or that it never comes to.
      if (now - begin < std::chrono::milliseconds(1)) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    }
  }

  // Whether it said so.
  static bool ready(outback_status status, const char* slot, bool surely, const char* since) {
    if (status != OUTBACK_NOT_READY) {
      must(status, slot);
      return true;
    }
    if (surely) throw wrong{std::string(slot) + " is not ready, " + since};
    return false;
  }

  void release(const buffer_made& b) {
    if (b.place >= 0) t_.mem_free(t_.self, b.place, b.bytes);
    if (b.place == in_pinned) t_.host_memory->free(t_.self, b.bytes);
  }

  // A runtime that was wrong once may be late with a write, too.
  void leak_what_may_be_written() {
    static auto& kept = *new std::deque<std::deque<std::unique_ptr<std::byte[]>>>;
    static auto& works = *new std::deque<std::deque<callback_work>>;
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    kept.push_back(std::move(pageable_));
    works.push_back(std::move(callbacks_));
  }

  std::byte* new_pageable(std::size_t size) {
    return pageable_.emplace_back(new std::byte[size]).get();
  }

  int32_t device_of(const buffer_made& b) const { return b.place < 0 ? OUTBACK_HOST : b.place; }

  void compare(const std::byte* got, const operation& o, const answer& want) {
    if (std::memcmp(got, want.content.data(), o.size) == 0) return;
    const auto result = same(bytes(got, got + o.size), want.content);
    throw wrong{std::string(result.message()) + " (of the range)"};
  }

  void run(const operation& o, const answer& want) {
    const auto stream = [&]() -> stream_made& { return streams_.at(o.stream); };
    const auto event = [&]() -> event_made& { return events_.at(o.event); };
    const auto at = [&](int32_t buffer, std::size_t offset) {
      return buffers_.at(buffer).bytes + offset;
    };
    void* const self = t_.self;
    switch (o.what) {
      case action::stream_create: {
        outback_stream made = nullptr;
        must(t_.streams->create(self, o.place, 0, &made), "streams.create");
        streams_[o.stream] = {o.place, made};
        break;
      }
      case action::stream_destroy: {
        const stream_made gone = stream();
        streams_.erase(o.stream);
        must(t_.streams->destroy(self, gone.device, gone.handle), "streams.destroy");
        break;
      }
      case action::stream_sync:
        must(t_.streams->sync(self, stream().device, stream().handle), "streams.sync");
        break;
      case action::stream_poll:
        until_ready([&] { return t_.streams->query(self, stream().device, stream().handle); },
                    "streams.query");
        break;
      case action::stream_query:
        ready(t_.streams->query(self, stream().device, stream().handle), "streams.query",
              want.ready, "though nothing was enqueued since the runtime said that it was");
        break;
      case action::event_create: {
        outback_event made = nullptr;
        must(t_.events->create(self, o.place, uint32_t(o.value), &made), "events.create");
        events_[o.event] = {o.place, made};
        break;
      }
      case action::event_destroy: {
        const event_made gone = event();
        events_.erase(o.event);
        must(t_.events->destroy(self, gone.device, gone.handle), "events.destroy");
        break;
      }
      case action::event_record:
        must(t_.events->record(self, event().device, event().handle, stream().handle),
             "events.record");
        event().was_ready = false;
        break;
      case action::event_wait:
        must(t_.events->wait(self, stream().device, event().handle, stream().handle),
             "events.wait");
        break;
      case action::event_sync:
        must(t_.events->sync(self, event().device, event().handle), "events.sync");
        break;
      case action::event_poll:
        until_ready([&] { return t_.events->query(self, event().device, event().handle); },
                    "events.query");
        break;
      case action::event_query:
        event().was_ready |=
            ready(t_.events->query(self, event().device, event().handle), "events.query",
                  want.ready || event().was_ready, "though what was recorded is known to be done");
        break;
      case action::event_elapsed: {
        int64_t ns = 0;
        must(t_.events->elapsed(self, events_.at(o.from).handle, event().handle, &ns),
             "events.elapsed");
        // 2 us: some clocks tick slowly, and some drivers answer in float milliseconds.
        if (want.forward && ns < -2000) {
          throw wrong{"the time went back: " + std::to_string(ns) + " ns"};
        }
        break;
      }
      case action::device_sync:
        must(t_.device_sync(self, o.place), "device_sync");
        break;
      case action::alloc:
        buffers_[o.buffer] = {o.place, allocate(o)};
        break;
      case action::free: {
        const buffer_made gone = buffers_.at(o.buffer);
        buffers_.erase(o.buffer);
        if (gone.place >= 0) must(t_.mem_free(self, gone.place, gone.bytes), "mem_free");
        if (gone.place == in_pinned) {
          must(t_.host_memory->free(self, gone.bytes), "host_memory.free");
        }
        break;
      }
      case action::fill: {
        std::byte pattern[8];  // exactly as long as it says, in case that a runtime reads more
        std::copy_n(reinterpret_cast<const std::byte*>(&o.value), o.width, pattern);
        must(t_.mem_fill(self, buffers_.at(o.buffer).place, at(o.buffer, o.offset), o.size, pattern,
                         o.width, stream().handle),
             "mem_fill");
        std::fill_n(pattern, sizeof(pattern), std::byte{0xbd});  // read before the call returned
        break;
      }
      case action::copy:
        must(t_.mem_copy(self, at(o.buffer, o.offset), device_of(buffers_.at(o.buffer)),
                         at(o.from, o.from_offset), device_of(buffers_.at(o.from)), o.size,
                         stream().handle),
             "mem_copy");
        break;
      case action::callback: {
        callback_work& work = callbacks_.emplace_back();
        work.to = at(o.buffer, o.offset);
        work.o = o;
        must(t_.callbacks->enqueue(self, stream().device, callback_work::run, &work,
                                   stream().handle),
             "callbacks.enqueue");
        break;
      }
      case action::host_write:
        write_noise(at(o.buffer, o.offset), o);
        break;
      case action::host_check:
        compare(at(o.buffer, o.offset), o, want);
        break;
      case action::read_back: {
        std::byte* const host = new_pageable(o.size);
        must(t_.mem_copy(self, host, OUTBACK_HOST, at(o.buffer, o.offset),
                         buffers_.at(o.buffer).place, o.size, stream().handle),
             "mem_copy");
        must(t_.streams != nullptr ? t_.streams->sync(self, stream().device, stream().handle)
                                   : t_.device_sync(self, stream().device),
             "sync");
        compare(host, o, want);
        break;
      }
    }
  }

  std::byte* allocate(const operation& o) {
    if (o.place == in_pageable) return new_pageable(o.size);
    void* ptr = nullptr;
    if (o.place == in_pinned) {
      must(t_.host_memory->alloc(t_.self, o.size, &ptr), "host_memory.alloc");
    } else {
      must(t_.mem_alloc(t_.self, o.place, o.size, &ptr), "mem_alloc");
    }
    check_memory(ptr, o.size, o.place == in_pinned ? "host_memory.alloc" : "mem_alloc");
    return static_cast<std::byte*>(ptr);
  }

  const outback_runtime& t_ = table();
  const program& program_;
  const std::vector<answer> answers_;
  std::map<int32_t, stream_made> streams_;
  std::map<int32_t, event_made> events_;
  std::map<int32_t, buffer_made> buffers_;
  std::deque<std::unique_ptr<std::byte[]>> pageable_;  // all of them, until the end
  std::deque<callback_work> callbacks_;
};

}  // namespace

machine machine_of_the_table() {
  const outback_runtime& t = table();
  machine on;
  on.devices = std::min<int32_t>(device_count(), 2);
  on.streams = t.streams != nullptr;
  on.events = t.events != nullptr;
  on.pinned = t.host_memory != nullptr;
  on.callbacks = t.callbacks != nullptr;
  for (int32_t d = 0; d < on.devices; ++d) {
    on.largest = std::min<std::size_t>({on.largest, device_info(d).memory_size / 64, big()});
  }
  return on;
}

std::optional<mismatch> run(const program& p) {
  return runner(p).run();
}

}  // namespace outback::suite
