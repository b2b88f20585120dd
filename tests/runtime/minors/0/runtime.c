// A runtime as it was compiled under OUTBACK_ABI_MINOR 0, against the header of then, which is
// beside it: frozen, never edited. Its table is as large as tables were then and has the last group
// that there was then.
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

static outback_status mem_copy(void* self, void* dst, int32_t dst_device, const void* src,
                               int32_t src_device, size_t size, outback_stream stream) {
  (void)self, (void)stream;
  REQUIRE(dst_device == 0 || dst_device == OUTBACK_HOST);
  REQUIRE(src_device == 0 || src_device == OUTBACK_HOST);
  REQUIRE(dst_device == 0 || src_device == 0);
  if (size == 0) return OUTBACK_OK;
  REQUIRE(dst != NULL && src != NULL);
  begin();
  memcpy(dst, src, size);
  end();
  return OUTBACK_OK;
}

static outback_status mem_fill(void* self, int32_t device, void* ptr, size_t size,
                               const void* pattern, size_t pattern_size, outback_stream stream) {
  (void)self, (void)stream;
  REQUIRE(device == 0);
  REQUIRE(pattern != NULL && (ptr != NULL || size == 0));
  REQUIRE(pattern_size == 1 || pattern_size == 2 || pattern_size == 4 || pattern_size == 8);
  REQUIRE(size % pattern_size == 0);
  begin();
  if (pattern_size == 1 && size != 0) {
    memset(ptr, *(const unsigned char*)pattern, size);
  } else {
    for (size_t i = 0; i < size; i += pattern_size) memcpy((char*)ptr + i, pattern, pattern_size);
  }
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
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  atomic_store(&event->ns, (long long)now.tv_sec * 1000000000 + now.tv_nsec);
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

_Static_assert(OUTBACK_ABI_MAJOR == 1 && OUTBACK_ABI_MINOR == 0, "the header of then");
_Static_assert(sizeof(outback_runtime) == 168, "the table of then");

const outback_runtime* outback_test_minor_0(void);

const outback_runtime* outback_test_minor_0(void) {
  static const outback_runtime table = {.struct_size = sizeof(outback_runtime),
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
                                        .telemetry = &telemetry};
  return &table;
}
