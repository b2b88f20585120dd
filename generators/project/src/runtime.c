// The device, in C11. As it stands it lives in the host's memory, and all eight functions work:
// replace what they do by calls of the driver, one after the other, and run the tests after each.
//
// The rules of every slot are in outback/runtime.h; docs/runtime.md of Outback explains them. More
// groups of slots (streams, events, host_memory, ...) go into structs of their own, which the table
// at the end points to.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "outback/runtime.h"

#define MEMORY_SIZE ((size_t)1 << 30)
#define ALIGNMENT ((size_t)64)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static size_t used;  // of MEMORY_SIZE; guarded by the lock

static _Thread_local char error_text[160];  // empty until this thread's first failure

static outback_status fail(outback_status status, const char* text) {
  snprintf(error_text, sizeof(error_text), "%s", text);
  return status;
}

// Before anything else in a slot: a refused call leaves the outputs as they were.
#define REQUIRE(condition) \
  if (!(condition)) return fail(OUTBACK_INVALID_ARGUMENT, "required: " #condition)

static const char* last_error(void* self) {
  (void)self;
  return error_text;
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
  // The CPU reaches this memory, and its kernels (DLPack's device type 1) may compute in it.
  outback_device_info all = {.struct_size = info->struct_size,
                             .flags = OUTBACK_HOST_ADDRESSABLE | OUTBACK_ADDRESSES_HOST,
                             .memory_size = MEMORY_SIZE,
                             .max_alloc_size = MEMORY_SIZE,
                             .alignment = ALIGNMENT,
                             .kernels_of = 1,
                             .name = "Acme device"};
  // The caller's struct may be older and shorter than ours: no further than that.
  memcpy(info, &all, info->struct_size < sizeof(all) ? info->struct_size : sizeof(all));
  return OUTBACK_OK;
}

static outback_status device_sync(void* self, int32_t device) {
  (void)self;
  REQUIRE(device == 0);
  return OUTBACK_OK;
}

// A block begins with its size, which mem_free wants to know; aligned memory follows.
static outback_status mem_alloc(void* self, int32_t device, size_t size, void** ptr) {
  (void)self;
  REQUIRE(device == 0);
  REQUIRE(ptr != NULL);
  if (size == 0) {
    *ptr = NULL;
    return OUTBACK_OK;
  }
  char* block = NULL;
  pthread_mutex_lock(&lock);
  if (size <= MEMORY_SIZE - used) {  // cannot overflow, whatever the size
    block = aligned_alloc(ALIGNMENT, ALIGNMENT + (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    if (block != NULL) used += size;
  }
  pthread_mutex_unlock(&lock);
  if (block == NULL) return fail(OUTBACK_OUT_OF_MEMORY, "not so much of the memory is free");
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
  pthread_mutex_lock(&lock);
  used -= size;
  pthread_mutex_unlock(&lock);
  return OUTBACK_OK;
}

static outback_status mem_copy(void* self, void* dst, int32_t dst_device, const void* src,
                               int32_t src_device, size_t size, outback_stream stream) {
  (void)self, (void)stream;
  REQUIRE(dst_device == 0 || dst_device == OUTBACK_HOST);
  REQUIRE(src_device == 0 || src_device == OUTBACK_HOST);
  REQUIRE(dst_device == 0 || src_device == 0);
  REQUIRE(size == 0 || (dst != NULL && src != NULL));
  if (size == 0) return OUTBACK_OK;
  pthread_mutex_lock(&lock);
  memcpy(dst, src, size);
  pthread_mutex_unlock(&lock);
  return OUTBACK_OK;
}

static outback_status mem_fill(void* self, int32_t device, void* ptr, size_t size,
                               const void* pattern, size_t pattern_size, outback_stream stream) {
  (void)self, (void)stream;
  REQUIRE(device == 0);
  REQUIRE(pattern != NULL && (ptr != NULL || size == 0));
  REQUIRE(pattern_size == 1 || pattern_size == 2 || pattern_size == 4 || pattern_size == 8);
  REQUIRE(size % pattern_size == 0);
  pthread_mutex_lock(&lock);
  if (pattern_size == 1 && size != 0) {
    memset(ptr, *(const unsigned char*)pattern, size);
  } else {
    for (size_t i = 0; i < size; i += pattern_size) memcpy((char*)ptr + i, pattern, pattern_size);
  }
  pthread_mutex_unlock(&lock);
  return OUTBACK_OK;
}

const outback_runtime* acme_runtime(void);  // which outback_add_backend looks for

const outback_runtime* acme_runtime(void) {
  static const outback_runtime table = {.struct_size = sizeof(table),
                                        .abi_major = OUTBACK_ABI_MAJOR,
                                        .abi_minor = OUTBACK_ABI_MINOR,
                                        .last_error = last_error,
                                        .device_count = device_count,
                                        .device_info = device_info,
                                        .device_sync = device_sync,
                                        .mem_alloc = mem_alloc,
                                        .mem_free = mem_free,
                                        .mem_copy = mem_copy,
                                        .mem_fill = mem_fill};  // all groups are null
  return &table;
}
