// What a slot that was appended to a group needs, besides its declaration and its row in the list:
// nothing. check_appended_slot.py compiles this with the layers, against copies of
// outback/runtime.h and outback/slot_list.hpp that have the slot streams.priority too.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "outback/layers.hpp"
#include "outback/runtime.hpp"
#include "outback/table_check.hpp"

namespace {

int failures = 0;
#define EXPECT(condition) \
  (condition) ? void()    \
              : void((++failures, std::printf("line %d: not so: %s\n", __LINE__, #condition)))

struct required {
  int32_t device_count() { return 1; }
  outback_device_info device_info(int32_t) {
    outback_device_info info = {};
    info.memory_size = info.max_alloc_size = info.alignment = 4096;
    return info;
  }
  void device_sync(int32_t) {}
  void* mem_alloc(int32_t, std::size_t size) { return std::malloc(size); }
  void mem_free(int32_t, void* ptr) { std::free(ptr); }
  void mem_copy(void*, int32_t, const void*, int32_t, std::size_t, outback_stream) {}
  void mem_fill(int32_t, void*, std::size_t, const void*, std::size_t, outback_stream) {}
};
// Written when the group had no such slot.
struct older : required {
  outback_stream stream_create(int32_t, int32_t) { return reinterpret_cast<outback_stream>(this); }
  void stream_destroy(int32_t, outback_stream) {}
  bool stream_query(int32_t, outback_stream) { return true; }
  void stream_sync(int32_t, outback_stream) {}
  outback::priority_range stream_priorities(int32_t) { return {0, -1}; }
};
struct newer : older {
  int32_t stream_priority(int32_t device, outback_stream) {
    outback::check_device(device, 1);
    return -1;
  }
};
struct mistyped : older {
  int32_t stream_priority(int32_t);
};
struct alone : required {
  int32_t stream_priority(int32_t, outback_stream);
};
static_assert(outback::device_runtime<older>);
static_assert(outback::device_runtime<newer>);
static_assert(!outback::device_runtime<mistyped>);
static_assert(!outback::device_runtime<alone>);

/// `table` and all layers over it.
template <class Visit>
void through_layers(const outback_runtime* table, Visit&& visit) {
  using namespace outback::layers;
  EXPECT(outback::table_problem(table).empty());
  for (const outback_runtime* each :
       {table, validate(table), trace(table, "/dev/null"), inject(table, {}),
        select_devices(table, {0}), trace(validate(inject(table, {})), "/dev/null")}) {
    EXPECT(outback::table_problem(each).empty());
    const outback::complete_table whole(*each);
    visit(whole.runtime());
  }
}

void the_slot_is_there() {
  static newer object;
  through_layers(outback::table_of(object), [](const outback_runtime& t) {
    int32_t priority = 7;
    EXPECT(t.streams->priority(t.self, 0, nullptr, &priority) == OUTBACK_OK && priority == -1);
    EXPECT(t.streams->priority(t.self, 1, nullptr, &priority) == OUTBACK_INVALID_ARGUMENT);
    EXPECT(t.streams->priority(t.self, 0, nullptr, nullptr) == OUTBACK_INVALID_ARGUMENT);
  });
  using namespace outback::layers;
  const outback_runtime* t =
      inject(outback::table_of(object), parse_faults("streams.priority:1=unsupported"));
  int32_t priority = 7;
  EXPECT(t->streams->priority(t->self, 0, nullptr, &priority) == OUTBACK_UNSUPPORTED);
  EXPECT(parse_faults("stream_priority:1=internal").size() == 1);
}

void the_slot_is_absent(const outback_runtime* table) {
  through_layers(table, [](const outback_runtime& t) {
    EXPECT(t.streams != nullptr && t.streams->priority == nullptr);
    EXPECT(t.streams->sync(t.self, 0, nullptr) == OUTBACK_OK);
    int32_t least = 7, greatest = 7;
    EXPECT(t.streams->priorities(t.self, 0, &least, &greatest) == OUTBACK_OK && greatest == -1);
  });
}

}  // namespace

int main() {
  the_slot_is_there();
  static older object;
  the_slot_is_absent(outback::table_of(object));
  // A table that was compiled with the older header, whose group ends before the slot. What lies
  // behind the group is not its own.
  static newer other;
  outback_streams group = *outback::table_of(other)->streams;
  outback_runtime table = *outback::table_of(other);
  table.streams = &group;
  for (const std::size_t beyond : {0, 1, 7}) {
    group.struct_size = uint32_t(offsetof(outback_streams, priority) + beyond);
    the_slot_is_absent(&table);
  }
  // A slot of the group as it was introduced is not optional.
  group.struct_size = offsetof(outback_streams, priorities);
  EXPECT(outback::table_problem(&table).find("streams has no priorities") != std::string::npos);
  std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
