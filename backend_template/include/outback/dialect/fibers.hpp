// Items of a group as fibers, by which the dialect checks kernels on the host
// (OUTBACK_DIALECT_FIBERS). A fiber has a stack of its own, and runs from one BARRIER to the next;
// the items take turns in another random order after each BARRIER. So a BARRIER that is missing
// gives a wrong result, which a test sees, and one that not all items get to ends the launch with a
// fault and a line on stderr.
#pragma once
#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <numeric>
#include <random>
#include <string>

#ifdef _FORTIFY_SOURCE  // its longjmp refuses to change the stack
#error "compile the dialect's fibers with -U_FORTIFY_SOURCE"
#endif

namespace outback_dialect {

/// The fibers of one thread, one for each of the group's `size` items. They are made once, by
/// ucontext; _setjmp and _longjmp switch between them, which make no system call.
template <int size>
class fibers {
 public:
  static fibers& mine() {
    static thread_local fibers all;
    return all;
  }

  /// Runs `body` once for each item. Returns false if the items do not get to the same BARRIERs.
  template <class Body>
  bool run(const Body& body) {
    make();
    call_ = [](const void* data) { (*static_cast<const Body*>(data))(); };
    data_ = &body;
    for (fiber& each : items_) each.line = not_begun;
    for (;;) {
      std::shuffle(order_.begin(), order_.end(), random_);
      for (const int i : order_) resume(i);
      const int line = items_[0].line;
      for (const fiber& each : items_) {
        if (each.line == line) continue;
        std::fprintf(stderr,
                     "outback: a BARRIER that not all items get to: one item is %s, another %s\n",
                     place_of(line).c_str(), place_of(each.line).c_str());
        made_ = false;  // the stacks are in the middle of the body
        return false;
      }
      if (line == ended) return true;
    }
  }
  void wait_at(int line) {
    items_[std::size_t(item_)].line = line;
    leave(items_[std::size_t(item_)]);
  }
  int item() const { return item_; }

 private:
  static constexpr std::size_t stack_size = std::size_t{128} << 10;
  static constexpr int not_begun = -1, ended = 0;
  struct fiber {
    jmp_buf place;
    ucontext_t first;
    int line = not_begun;  // of the BARRIER where the item waits
  };

  void make() {
    if (made_) return;
    std::iota(order_.begin(), order_.end(), 0);
    for (int i = 0; i < size; ++i) {
      fiber& made = items_[std::size_t(i)];
      getcontext(&made.first);
      made.first.uc_stack.ss_sp = stacks_.get() + stack_size * std::size_t(i);
      made.first.uc_stack.ss_size = stack_size;
      makecontext(&made.first, &fibers::live, 0);
      item_ = i;
      swapcontext(&maker_, &made.first);  // until the fiber waits for its first body
    }
    made_ = true;
  }
  static void live() {
    fibers& all = mine();
    fiber& self = all.items_[std::size_t(all.item_)];
    if (_setjmp(self.place) == 0) swapcontext(&self.first, &all.maker_);
    for (;;) {
      all.call_(all.data_);
      self.line = ended;
      all.leave(self);
    }
  }
  // Not inlined: a function that calls _setjmp must not have variables that change.
  __attribute__((noinline)) void resume(int i) {
    item_ = i;
    if (_setjmp(scheduler_) == 0) _longjmp(items_[std::size_t(i)].place, 1);
  }
  __attribute__((noinline)) void leave(fiber& self) {
    if (_setjmp(self.place) == 0) _longjmp(scheduler_, 1);
  }
  static std::string place_of(int line) {
    return line == ended ? "at the end of the kernel" : "at line " + std::to_string(line);
  }

  bool made_ = false;
  int item_ = 0;
  std::array<fiber, size> items_;
  std::array<int, size> order_;
  std::unique_ptr<char[]> stacks_{new char[stack_size * size]};
  ucontext_t maker_;
  jmp_buf scheduler_;
  void (*call_)(const void*) = nullptr;
  const void* data_ = nullptr;
  std::mt19937 random_;
};

}  // namespace outback_dialect
