// Validation's rules for memory: what is allocated, freed, copied, filled and registered.
#include <cstdint>
#include <limits>
#include <string>

#include "backend_template/layers/validation.hpp"

namespace outback::layers {

void validation::keep_memory(const char* slot, void* ptr, std::size_t size, int32_t device,
                             uint32_t alignment) {
  // The runtime called the memory new, so every fault here is the runtime's.
  if (size == 0) {
    if (ptr != nullptr) blame(slot, "answered memory for 0 bytes, where *ptr becomes null");
    return;
  }
  if (ptr == nullptr) blame(slot, "answered ok and made *ptr null for " + bytes_text(size));
  if (reinterpret_cast<uintptr_t>(ptr) % alignment != 0) {
    blame(slot,
          "answered " + address_text(ptr) + ", which is not aligned to " + bytes_text(alignment));
  }
  if (const auto there = objects_.add(ptr, size, device)) {
    throw overlap(OUTBACK_INTERNAL, "validation: " + std::string(slot) +
                                        ": the runtime is wrong: it answered " + address_text(ptr) +
                                        " for " + bytes_text(size) + ", which overlaps " +
                                        block_text(*there));
  }
}

template <class Free>
void validation::receive_memory(const char* slot, void* ptr, std::size_t size, int32_t device,
                                uint32_t alignment, Free&& free) {
  try {
    keep_memory(slot, ptr, size, device, alignment);
  } catch (const overlap&) {
    throw;  // not freed: the address belongs to an allocation that is in use
  } catch (...) {
    // The caller sees a failure and will never free it.
    if (ptr != nullptr) free();
    throw;
  }
}

void validation::receive(slots::mem_alloc, int32_t device, std::size_t size, void** ptr) {
  receive_memory(slots::mem_alloc::name, *ptr, size, device, facts_of(device).alignment,
                 [&] { below<slots::mem_free>(device, *ptr); });
}

void validation::receive(slots::host_alloc, std::size_t size, void** ptr) {
  receive_memory(slots::host_alloc::name, *ptr, size, OUTBACK_HOST, 64,
                 [&] { below<slots::host_free>(*ptr); });
}

void validation::refuse_memory(const char* slot, const void* ptr, int32_t device, origin wanted) {
  // Says the first of these that is true.
  const auto begins = [&](const block& b) { return b.begin == reinterpret_cast<uintptr_t>(ptr); };
  std::string but = "it is none of this runtime's";
  if (const auto inside = objects_.find(ptr, device)) {
    but = (begins(*inside) ? "it is " : "it points into ") +
          (inside->from == origin::opened ? memory_text(device, origin::opened) + " (object " +
                                                std::to_string(inside->number) + ")"
                                          : block_text(*inside));
  } else if (wanted == origin::opened && objects_.was_closed(ptr, device)) {
    but = "it was closed already";
  } else if (const auto elsewhere = objects_.find_elsewhere(ptr, device)) {
    but = "it is " + block_text(*elsewhere);
  } else if (const auto freed = objects_.find_freed(ptr, device)) {
    but = std::string(freed->from == origin::registered ? "it was removed" : "it was freed") +
          " already (object " + std::to_string(freed->number) + ")";
  }
  refuse(slot, "ptr", address_text(ptr),
         "the beginning of " + memory_text(device, wanted) + "; " + but);
}

block validation::take_memory(const char* slot, const void* ptr, int32_t device, origin from) {
  const auto taken = objects_.take(ptr, device, from);
  if (!taken) refuse_memory(slot, ptr, device, from);
  return *taken;
}

void validation::give_more(slots::mem_free, giving& given, int32_t device, void* ptr) {
  if (ptr == nullptr) return;
  given.memory = take_memory(slots::mem_free::name, ptr, device, origin::allocated);
}

void validation::give_more(slots::host_free, giving& given, void* ptr) {
  if (ptr == nullptr) return;
  given.memory = take_memory(slots::host_free::name, ptr, OUTBACK_HOST, origin::allocated);
}

void validation::give_more(slots::host_unregister, giving& given, void* ptr) {
  given.memory = take_memory(slots::host_unregister::name, ptr, OUTBACK_HOST, origin::registered);
}

void validation::check_addresses(const char* slot, const char* argument, const void* ptr,
                                 std::size_t size) {
  if (size - 1 <= std::numeric_limits<uintptr_t>::max() - reinterpret_cast<uintptr_t>(ptr)) return;
  refuse(slot, argument, address_text(ptr) + ", " + bytes_text(size),
         "a range within the addresses that there are");
}

void validation::check_host_memory(const char* slot, const char* argument, const void* ptr,
                                   std::size_t size) {
  // Only a runtime with `host_memory.info`, which finds the device of any pointer, has one address
  // space for all. Without it, an address of a device may be one of the host too. And memory that
  // the CPU can address may be used as host memory.
  const auto elsewhere = objects_.find_elsewhere(ptr, OUTBACK_HOST);
  if (!elsewhere || table()->host_memory == nullptr) return;
  const facts theirs = facts_of(elsewhere->device);
  if (!theirs.known || (theirs.flags & OUTBACK_HOST_ADDRESSABLE) != 0) return;
  refuse(slot, argument, address_text(ptr) + ", " + bytes_text(size),
         "host memory; it is in " + block_text(*elsewhere));
}

void validation::check_range(const char* slot, const char* argument, const void* ptr,
                             std::size_t size, int32_t device) {
  const auto address = reinterpret_cast<uintptr_t>(ptr);
  const std::string range = address_text(ptr) + ", " + bytes_text(size);
  if (ptr == nullptr) refuse(slot, argument, range, "memory of " + place_text(device));
  check_addresses(slot, argument, ptr, size);
  const auto inside = objects_.find(ptr, device);
  // A registered range is a part of host memory that goes on behind it, so its end is no limit.
  // Opened memory may have an unknown size.
  if (inside && inside->from != origin::registered) {
    const bool unknown = inside->from == origin::opened && inside->size == 0;
    if (unknown || size <= inside->size - (address - inside->begin)) return;
    refuse(slot, argument, range, "no more than is left of " + block_text(*inside));
  }
  if (device == OUTBACK_HOST) return check_host_memory(slot, argument, ptr, size);
  const auto elsewhere = objects_.find_elsewhere(ptr, device);
  // A device that addresses host memory accepts any host memory, also memory that validation does
  // not know. It does not accept another device's.
  const bool addresses_host = (facts_of(device).flags & OUTBACK_ADDRESSES_HOST) != 0;
  if (addresses_host && (!elsewhere || elsewhere->device == OUTBACK_HOST)) return;
  if (!elsewhere && facts_of(device).has_memory_of_others && !objects_.find_freed(ptr, device)) {
    return;
  }
  std::string but = "it is in none";
  if (elsewhere) {
    but = "it is in " + block_text(*elsewhere);
  } else if (const auto freed = objects_.find_freed(ptr, device)) {
    but = "it was freed (object " + std::to_string(freed->number) + ")";
  }
  refuse(slot, argument, range,
         "all of it in " + memory_text(device, origin::allocated) + "; " + but);
}

void validation::check(slots::mem_copy, void* dst, int32_t dst_device, const void* src,
                       int32_t src_device, std::size_t size, outback_stream) {
  const char* slot = slots::mem_copy::name;
  if (size == 0) return;
  check_range(slot, "dst", dst, size, dst_device);
  check_range(slot, "src", src, size, src_device);
  const auto to = reinterpret_cast<uintptr_t>(dst), from = reinterpret_cast<uintptr_t>(src);
  // The distance of the two beginnings, which must not be less than the size.
  if (dst_device == src_device && (to < from ? from - to : to - from) < size) {
    refuse(slot, "dst", address_text(dst) + ", " + bytes_text(size),
           "a range that does not overlap src, " + address_text(src));
  }
}

void validation::check(slots::mem_fill, int32_t device, void* ptr, std::size_t size, const void*,
                       std::size_t, outback_stream) {
  if (size != 0) check_range(slots::mem_fill::name, "ptr", ptr, size, device);
}

// ---- Host registration

void validation::check(slots::host_register, void* ptr, std::size_t size) {
  const char* slot = slots::host_register::name;
  check_addresses(slot, "ptr", ptr, size);
  check_host_memory(slot, "ptr", ptr, size);
  if (const auto there = objects_.overlapping(ptr, size, OUTBACK_HOST)) {
    refuse(slot, "ptr", address_text(ptr) + ", " + bytes_text(size),
           "a range that does not meet " + block_text(*there));
  }
}

// Another thread may have registered the same range since `check`; then the runtime should have
// refused.
void validation::receive(slots::host_register, void* ptr, std::size_t size) {
  if (const auto there = objects_.add(ptr, size, OUTBACK_HOST, origin::registered)) {
    blame(slots::host_register::name, "registered what is pinned already: " + block_text(*there));
  }
}

}  // namespace outback::layers
