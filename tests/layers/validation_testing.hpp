// The base of the tests of validation: a table, and calls that are refused without the runtime.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "backend_template/layers/text.hpp"
#include "tests/layers/layers_testing.hpp"

namespace outback::layers {

class validation_test : public testing::Test {
 protected:
  void use(const outback_runtime* below) {
    injected_ = inject(below, {});
    table_ = validate(injected_, {.devices = below});
    t_ = *table_;
    self_ = t_.self;
  }

  /// `call` is refused with `text`, although the runtime would have answered something else.
  template <class Call>
  void expect_refused(Call&& call, const std::string& text,
                      outback_status status = OUTBACK_INVALID_ARGUMENT) {
    set_faults(injected_, {{.every = 1, .status = OUTBACK_UNSUPPORTED}});
    EXPECT_EQ(call(), status);
    EXPECT_EQ(text_of(table_), "validation: " + text);
    set_faults(injected_, {});
  }
  /// For EXPECT_TRUE: the status is OUTBACK_OK.
  testing::AssertionResult ok(outback_status status) const {
    if (status == OUTBACK_OK) return testing::AssertionSuccess();
    return testing::AssertionFailure() << status << ": " << text_of(table_);
  }

  void* memory(int32_t device = 0, std::size_t size = 64) {
    void* ptr = nullptr;
    EXPECT_TRUE(ok(t_.mem_alloc(self_, device, size, &ptr)));
    return ptr;
  }
  void* pinned(std::size_t size = 64) {
    void* ptr = nullptr;
    EXPECT_TRUE(ok(t_.host_memory->alloc(self_, size, &ptr)));
    return ptr;
  }
  outback_stream stream(int32_t device = 0) {
    outback_stream made = nullptr;
    EXPECT_TRUE(ok(t_.streams->create(self_, device, 0, &made)));
    return made;
  }
  outback_event event(int32_t device = 0, uint32_t flags = OUTBACK_EVENT_TIMING) {
    outback_event made = nullptr;
    EXPECT_TRUE(ok(t_.events->create(self_, device, flags, &made)));
    return made;
  }
  outback_status fill(int32_t device, void* ptr, std::size_t size, std::size_t width = 1,
                      outback_stream s = nullptr) {
    const uint64_t pattern = 7;
    return t_.mem_fill(self_, device, ptr, size, &pattern, width, s);
  }
  static std::string at(const void* ptr) { return address_text(ptr); }
  static void* after(void* ptr, std::size_t size) { return static_cast<std::byte*>(ptr) + size; }

  const outback_runtime* injected_ = nullptr;
  const outback_runtime* table_ = nullptr;
  outback_runtime t_ = {};
  void* self_ = nullptr;
};

}  // namespace outback::layers
