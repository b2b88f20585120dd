// A runtime written in C11, compiled with -pedantic: the contract asks for no C++. It is compiled
// against today's header, and against the header of each older minor version (minors/), where its
// table is as large as tables were then and has the groups of then.
//
// One device of 64 MiB. Its work is done when the call returns, so its streams and events have
// little to do.
#define _POSIX_C_SOURCE 200809L  // clock_gettime, sched_yield
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "outback/runtime.h"

#define MEMORY_SIZE ((size_t)64 << 20)
#define ALIGNMENT 64

struct outback_stream_ {
  int unused;
};

struct outback_event_ {
  uint32_t flags;
  atomic_llong ns;  // of the last recording; 0 before the first
};

static _Thread_local char text[160];

static outback_status fail(outback_status status, const char* why) {
  snprintf(text, sizeof(text), "%s", why);
  return status;
}

static outback_status bad(const char* why) {
  return fail(OUTBACK_INVALID_ARGUMENT, why);
}

#define REQUIRE(condition) \
  if (!(condition)) return bad("required: " #condition)

static const char* last_error(void* self) {
  (void)self;
  return text;
}

static outback_status device_count(void* self, int32_t* count) {
  (void)self;
  REQUIRE(count != NULL);
  *count = 1;
  return OUTBACK_OK;
}

static outback_status device_info(void* self, int32_t device, outback_device_info* info) {
  (void)self;
  REQUIRE(device == 0);
  REQUIRE(info != NULL && info->struct_size >= sizeof(info->struct_size));
  outback_device_info all = {.struct_size = info->struct_size,
                             .flags = OUTBACK_HOST_ADDRESSABLE | OUTBACK_ADDRESSES_HOST,
                             .memory_size = MEMORY_SIZE,
                             .max_alloc_size = MEMORY_SIZE,
                             .alignment = ALIGNMENT,
                             .kernels_of = 1,
                             .name = "C device"};
  memcpy(info, &all, info->struct_size < sizeof(all) ? info->struct_size : sizeof(all));
  return OUTBACK_OK;
}

static outback_status device_sync(void* self, int32_t device) {
  (void)self;
  REQUIRE(device == 0);
  return OUTBACK_OK;
}

static atomic_flag busy = ATOMIC_FLAG_INIT;

static void begin(void) {
  while (atomic_flag_test_and_set(&busy)) sched_yield();
}

static void end(void) {
  atomic_flag_clear(&busy);
}

static atomic_size_t used;

// A block begins with its size; the memory follows, aligned.
static outback_status mem_alloc(void* self, int32_t device, size_t size, void** ptr) {
  (void)self;
  REQUIRE(device == 0);
  REQUIRE(ptr != NULL);
  if (size == 0) {
    *ptr = NULL;
    return OUTBACK_OK;
  }
  if (size > MEMORY_SIZE) return fail(OUTBACK_OUT_OF_MEMORY, "more than the device has");
  size_t before = atomic_fetch_add(&used, size);
  if (before + size > MEMORY_SIZE) {
    atomic_fetch_sub(&used, size);
    return fail(OUTBACK_OUT_OF_MEMORY, "more than is free");
  }
  char* block =
      aligned_alloc(ALIGNMENT, ALIGNMENT + (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
  if (block == NULL) {
    atomic_fetch_sub(&used, size);
    return fail(OUTBACK_OUT_OF_MEMORY, "the host has no more");
  }
  memcpy(block, &size, sizeof(size));
  *ptr = block + ALIGNMENT;
  return OUTBACK_OK;
}

static outback_status mem_free(void* self, int32_t device, void* ptr) {
  (void)self;
  REQUIRE(device == 0);
  if (ptr == NULL) return OUTBACK_OK;
  char* block = (char*)ptr - ALIGNMENT;
  size_t size;
  memcpy(&size, block, sizeof(size));
  free(block);
  atomic_fetch_sub(&used, size);
  return OUTBACK_OK;
}

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

#if OUTBACK_ABI_MINOR >= 1  // the group activity
// The records of the last recording: of fills and copies, which run at once.
#define ROOM 65536
static outback_record records[ROOM];
static size_t records_first, records_count;
static uint64_t records_lost;
static bool records_go_on;
static _Thread_local uint64_t pushed[64];
static _Thread_local size_t pushed_count;

// The caller holds `busy`, as for all records.
static void record(outback_record_kind kind, size_t size, int64_t begun, outback_stream stream) {
  if (!records_go_on) return;
  if (records_count == ROOM) {
    ++records_lost;
    return;
  }
  records[(records_first + records_count++) % ROOM] =
      (outback_record){.kind = kind,
                       .stream = (uint64_t)(uintptr_t)stream,
                       .begin = begun,
                       .end = now(),
                       .bytes = size,
                       .correlation = pushed_count == 0 ? 0 : pushed[pushed_count - 1]};
}
#define RECORD record
#else
#define RECORD(...) (void)begun, (void)stream
#endif

static outback_status mem_copy(void* self, void* dst, int32_t dst_device, const void* src,
                               int32_t src_device, size_t size, outback_stream stream) {
  (void)self;
  REQUIRE(dst_device == 0 || dst_device == OUTBACK_HOST);
  REQUIRE(src_device == 0 || src_device == OUTBACK_HOST);
  REQUIRE(dst_device == 0 || src_device == 0);
  if (size == 0) return OUTBACK_OK;
  REQUIRE(dst != NULL && src != NULL);
  begin();
  const int64_t begun = now();
  memcpy(dst, src, size);
  RECORD(src_device == OUTBACK_HOST   ? OUTBACK_RECORD_COPY_TO_DEVICE
         : dst_device == OUTBACK_HOST ? OUTBACK_RECORD_COPY_TO_HOST
                                      : OUTBACK_RECORD_COPY_WITHIN,
         size, begun, stream);
  end();
  return OUTBACK_OK;
}

static outback_status mem_fill(void* self, int32_t device, void* ptr, size_t size,
                               const void* pattern, size_t pattern_size, outback_stream stream) {
  (void)self;
  REQUIRE(device == 0);
  REQUIRE(pattern != NULL && (ptr != NULL || size == 0));
  REQUIRE(pattern_size == 1 || pattern_size == 2 || pattern_size == 4 || pattern_size == 8);
  REQUIRE(size % pattern_size == 0);
  if (size == 0) return OUTBACK_OK;
  begin();
  const int64_t begun = now();
  if (pattern_size == 1 && size != 0) {
    memset(ptr, *(const unsigned char*)pattern, size);
  } else {
    for (size_t i = 0; i < size; i += pattern_size) memcpy((char*)ptr + i, pattern, pattern_size);
  }
  RECORD(OUTBACK_RECORD_FILL, size, begun, stream);
  end();
  return OUTBACK_OK;
}

static outback_status stream_create(void* self, int32_t device, int32_t priority,
                                    outback_stream* stream) {
  (void)self, (void)priority;
  REQUIRE(device == 0);
  REQUIRE(stream != NULL);
  outback_stream made = malloc(sizeof(*made));
  if (made == NULL) return fail(OUTBACK_OUT_OF_MEMORY, "the host has no more");
  *stream = made;
  return OUTBACK_OK;
}

static outback_status stream_destroy(void* self, int32_t device, outback_stream stream) {
  (void)self;
  REQUIRE(device == 0);
  REQUIRE(stream != NULL);
  free(stream);
  return OUTBACK_OK;
}

static outback_status stream_done(void* self, int32_t device, outback_stream stream) {
  (void)stream;
  return device_sync(self, device);
}

static outback_status stream_priorities(void* self, int32_t device, int32_t* least,
                                        int32_t* greatest) {
  (void)self;
  REQUIRE(device == 0);
  REQUIRE(least != NULL && greatest != NULL);
  *least = *greatest = 0;
  return OUTBACK_OK;
}

static outback_status event_create(void* self, int32_t device, uint32_t flags,
                                   outback_event* event) {
  (void)self;
  REQUIRE(device == 0);
  REQUIRE(event != NULL);
  outback_event made = malloc(sizeof(*made));
  if (made == NULL) return fail(OUTBACK_OUT_OF_MEMORY, "the host has no more");
  made->flags = flags;
  atomic_init(&made->ns, 0);
  *event = made;
  return OUTBACK_OK;
}

static outback_status event_destroy(void* self, int32_t device, outback_event event) {
  (void)self;
  REQUIRE(device == 0);
  REQUIRE(event != NULL);
  free(event);
  return OUTBACK_OK;
}

static outback_status event_record(void* self, int32_t device, outback_event event,
                                   outback_stream stream) {
  (void)self, (void)stream;
  REQUIRE(device == 0);
  REQUIRE(event != NULL);
  atomic_store(&event->ns, now());
  return OUTBACK_OK;
}

static outback_status event_wait(void* self, int32_t device, outback_event event,
                                 outback_stream stream) {
  (void)self, (void)stream;
  REQUIRE(device == 0);
  REQUIRE(event != NULL);
  return OUTBACK_OK;
}

static outback_status event_done(void* self, int32_t device, outback_event event) {
  return event_wait(self, device, event, NULL);
}

static bool has_time(outback_event event) {
  return event != NULL && (event->flags & OUTBACK_EVENT_TIMING) != 0 &&
         atomic_load(&event->ns) != 0;
}

static outback_status event_elapsed(void* self, outback_event from, outback_event to, int64_t* ns) {
  (void)self;
  REQUIRE(has_time(from) && has_time(to));
  REQUIRE(ns != NULL);
  *ns = atomic_load(&to->ns) - atomic_load(&from->ns);
  return OUTBACK_OK;
}

static const outback_streams streams = {.struct_size = sizeof(outback_streams),
                                        .create = stream_create,
                                        .destroy = stream_destroy,
                                        .query = stream_done,
                                        .sync = stream_done,
                                        .priorities = stream_priorities};

static const outback_events events = {.struct_size = sizeof(outback_events),
                                      .create = event_create,
                                      .destroy = event_destroy,
                                      .record = event_record,
                                      .wait = event_wait,
                                      .query = event_done,
                                      .sync = event_done,
                                      .elapsed = event_elapsed};

static outback_status telemetry_read(void* self, int32_t device, outback_metric metric,
                                     int64_t* value) {
  (void)self;
  REQUIRE(device == 0);
  REQUIRE(value != NULL);
  if (metric != OUTBACK_METRIC_MEMORY_USED) return fail(OUTBACK_UNSUPPORTED, "not measured");
  *value = (int64_t)atomic_load(&used);
  return OUTBACK_OK;
}

static outback_status telemetry_processes(void* self, int32_t device,
                                          outback_processes* processes) {
  (void)self;
  REQUIRE(device == 0);
  REQUIRE(processes != NULL && processes->struct_size >= offsetof(outback_processes, list));
  return fail(OUTBACK_UNSUPPORTED, "not known");
}

static const outback_telemetry telemetry = {.struct_size = sizeof(outback_telemetry),
                                            .read = telemetry_read,
                                            .processes = telemetry_processes};

#if OUTBACK_ABI_MINOR >= 1
static outback_status recording(int32_t device, bool goes_on) {
  REQUIRE(device == 0);
  begin();
  const bool is_other = records_go_on != goes_on;
  records_go_on = goes_on;
  if (is_other && goes_on) records_count = records_lost = 0;
  end();
  return is_other ? OUTBACK_OK : bad("a recording goes on, or none does");
}

static outback_status activity_start(void* self, int32_t device) {
  (void)self;
  return recording(device, true);
}

static outback_status activity_stop(void* self, int32_t device) {
  (void)self;
  return recording(device, false);
}

static outback_status activity_read(void* self, int32_t device, outback_records* read) {
  (void)self;
  REQUIRE(device == 0);
  REQUIRE(read != NULL && read->struct_size >= sizeof(*read));
  begin();
  read->count = 0;
  read->lost = records_lost;
  records_lost = 0;
  for (; records_count > 0 && read->count < 256; --records_count) {
    read->list[read->count++] = records[records_first];
    records_first = (records_first + 1) % ROOM;
  }
  end();
  return OUTBACK_OK;
}

static outback_status activity_clock(void* self, int32_t device, int64_t* ns) {
  (void)self;
  REQUIRE(device == 0);
  REQUIRE(ns != NULL);
  *ns = now();
  return OUTBACK_OK;
}

static outback_status activity_stream(void* self, int32_t device, outback_stream stream,
                                      uint64_t* number) {
  (void)self;
  REQUIRE(device == 0);
  REQUIRE(number != NULL);
  *number = (uint64_t)(uintptr_t)stream;
  return OUTBACK_OK;
}

static outback_status activity_push(void* self, uint64_t correlation) {
  (void)self;
  REQUIRE(pushed_count < 64);
  pushed[pushed_count++] = correlation;
  return OUTBACK_OK;
}

static outback_status activity_pop(void* self, uint64_t* correlation) {
  (void)self;
  REQUIRE(correlation != NULL && pushed_count > 0);
  *correlation = pushed[--pushed_count];
  return OUTBACK_OK;
}

static const outback_activity activity = {.struct_size = sizeof(outback_activity),
                                          .start = activity_start,
                                          .stop = activity_stop,
                                          .flush = device_sync,
                                          .read = activity_read,
                                          .clock = activity_clock,
                                          .stream = activity_stream,
                                          .push = activity_push,
                                          .pop = activity_pop};
#endif

#ifdef OUTBACK_TEST_MINOR
_Static_assert(OUTBACK_ABI_MAJOR == 1 && OUTBACK_ABI_MINOR == OUTBACK_TEST_MINOR,
               "the header of then");
#endif

const outback_runtime* outback_test_c_runtime(void);

const outback_runtime* outback_test_c_runtime(void) {
  static const outback_runtime table = {
      .struct_size = sizeof(outback_runtime),
      .abi_major = OUTBACK_ABI_MAJOR,
      .abi_minor = OUTBACK_ABI_MINOR,
      .last_error = last_error,
      .device_count = device_count,
      .device_info = device_info,
      .device_sync = device_sync,
      .mem_alloc = mem_alloc,
      .mem_free = mem_free,
      .mem_copy = mem_copy,
      .mem_fill = mem_fill,
      .streams = &streams,
      .events = &events,
      .telemetry = &telemetry,
#if OUTBACK_ABI_MINOR >= 1
      .activity = &activity,
#endif
  };
  return &table;
}
