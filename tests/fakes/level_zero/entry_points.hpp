// Every function that the driver gives to the loader goes through here: calls are counted, faults
// injected, forked children refused, and what the function throws becomes its answer.
#pragma once

#include <level_zero/ze_api.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <string_view>
#include <vector>

#include "tests/fakes/level_zero/refusal.hpp"

namespace outback::software_ze {

/// What a forked child may do with an entry point.
enum class in_child {
  refused,  // it needs a device: the child has no threads that work
  allowed,  // it only tells what there is
  waits     // refused, or hangs for ever, as OUTBACK_ZE_FORK says
};

/// One entry point. They are made while the library is loaded, and never go. May be used from any
/// thread.
class entry_point {
 public:
  entry_point(const char* name, in_child child);

  const char* name() const noexcept { return name_; }
  uint64_t calls() const noexcept { return calls_.load(std::memory_order_relaxed); }

  /// Counts a call; answers its fault, or success.
  ze_result_t enter();

  /// The nth call from now on, 1 or more, answers `result`; with 0 each.
  void fail(uint32_t nth, ze_result_t result);
  void clear_failures();

 private:
  struct fault {
    uint64_t call;  // 0: each
    ze_result_t result;
  };

  const char* const name_;
  const in_child child_;
  std::atomic<uint64_t> calls_{0};
  std::atomic<bool> may_fail_{false};  // faults_ is not empty
  std::mutex mutex_;
  std::vector<fault> faults_;
};

const std::vector<entry_point*>& entry_points();
/// Null if there is none.
entry_point* find_entry_point(std::string_view name);
/// Of the calling thread; "the driver" outside of any.
const char* current_entry_point() noexcept;

/// What OUTBACK_ZE_FAULTS says: name[:nth]=result,..., nth being 1 unless it is there, and * for
/// each call. Throws std::invalid_argument, having done nothing, if that is not what `text` is.
void read_faults(std::string_view text);

/// How many threads are in an entry point now.
int calls_in_progress() noexcept;

/// While it lives, `point` is the calling thread's current entry point.
class entered {
 public:
  explicit entered(const entry_point& point) noexcept;
  ~entered();
  entered(const entered&) = delete;
  entered& operator=(const entered&) = delete;

 private:
  const entry_point* const before_;
};

/// The name of an entry point as a template argument.
template <std::size_t size>
struct entry_name {
  consteval entry_name(const char (&name)[size]) { std::copy_n(name, size, text); }
  char text[size];
};

template <entry_name name, in_child child>
inline entry_point point_of{name.text, child};

template <entry_name name, in_child child, auto function>
struct entry;

template <entry_name name, in_child child, class... Arguments,
          ze_result_t (*function)(Arguments...)>
struct entry<name, child, function> {
  static ze_result_t ZE_APICALL call(Arguments... arguments) noexcept {
    entry_point& point = point_of<name, child>;
    const entered scope(point);
    try {
      if (const ze_result_t fault = point.enter(); fault != ZE_RESULT_SUCCESS) return fault;
      return function(arguments...);
    } catch (const refusal& refused) {
      return refused.result;
    } catch (const std::bad_alloc&) {
      return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    } catch (...) {
      return ZE_RESULT_ERROR_UNKNOWN;
    }
  }
};

template <class... Arguments>
ze_result_t refuse_feature(Arguments...) {
  return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
}

/// Puts `function` into a slot of a table, as the entry point `name`.
template <entry_name name, auto function, in_child child = in_child::refused, class Slot>
void serve(Slot& slot) {
  slot = &entry<name, child, function>::call;
}

/// The same of a function that there is not yet: it may be called, and be let fail, like the
/// others.
template <entry_name name, class... Arguments>
void serve_nothing(ze_result_t (*&slot)(Arguments...)) {
  slot = &entry<name, in_child::refused, &refuse_feature<Arguments...>>::call;
}

/// Puts `function` behind the slots that the headers declare: slot number `index` of the table.
template <entry_name name, auto function, in_child child = in_child::refused, class Table>
void serve_newer(Table* table, std::size_t index) {
  reinterpret_cast<void (**)()>(table)[index] =
      reinterpret_cast<void (*)()>(&entry<name, child, function>::call);
}

}  // namespace outback::software_ze
