// One piece of device memory as the allocator knows it; the context of the DataPtr that owns it.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Stream.h>
#include <c10/util/SmallVector.h>

#include <cstddef>

#include "backend_template/core/event.h"

namespace outback::core {

struct block {
  void* data = nullptr;
  size_t size = 0;       // as allocated from the runtime, or the adopted size
  size_t requested = 0;  // as asked for
  int size_class = 0;    // -1: of exactly the requested size, goes back to the runtime when freed
  c10::DeviceIndex device = 0;
  c10::StreamId stream = 0;  // whose work may use the memory without further notice
  // By record_stream; guarded by the cache's mutex while the block has an owner.
  c10::SmallVector<c10::StreamId, 1> also_used_on;
  bool is_adopted = false;  // the memory is the CPU allocator's, not the runtime's
  c10::DataPtr foreign;     // that memory's owner
  block* next = nullptr;    // in the list that the block is in
};

/// A freed block that streams may still use, until all of `uses` are over.
struct pending_block {
  block* freed;
  c10::SmallVector<event, 1> uses;
};

}  // namespace outback::core
