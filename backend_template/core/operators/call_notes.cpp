#include "backend_template/core/operators/call_notes.h"

#include <chrono>

namespace outback::core {
namespace {

struct shared_notes {
  std::atomic<uint64_t> bytes_to_host{0}, bytes_to_device{0}, bytes_on_devices{0};
  std::atomic<uint64_t> copies{0}, waits{0};
  std::atomic<int64_t> waited_ns{0};
};
constinit shared_notes outside;

template <class Notes>
void add_copy(Notes& to, bool to_device, bool from_device, size_t size, bool by_slot) {
  if (by_slot) ++to.copies;
  (to_device && from_device ? to.bytes_on_devices
   : to_device              ? to.bytes_to_device
                            : to.bytes_to_host) += size;
}

}  // namespace

void detail::note_copy(bool to_device, bool from_device, size_t size, bool by_slot) noexcept {
  if (notes_of_call != nullptr) {
    add_copy(*notes_of_call, to_device, from_device, size, by_slot);
  } else {
    add_copy(outside, to_device, from_device, size, by_slot);
  }
}

int64_t detail::begin_wait() noexcept {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

void detail::note_wait(int64_t begun) noexcept {
  // Of a wait that began before the recording, the time is not known.
  const int64_t waited = begun == 0 ? 0 : begin_wait() - begun;
  if (notes_of_call != nullptr) {
    ++notes_of_call->waits;
    if (!notes_of_call->waits_for_itself) notes_of_call->waited_ns += waited;
  } else {
    ++outside.waits;
    outside.waited_ns += waited;
  }
}

void detail::note_own_work() noexcept {
  if (notes_of_call != nullptr) notes_of_call->waits_for_itself = true;
}

void detail::note_provider(served_by provider) noexcept {
  if (notes_of_call != nullptr) notes_of_call->provider = provider;
}

call_notes notes_outside_operators() noexcept {
  return {.bytes_to_host = outside.bytes_to_host,
          .bytes_to_device = outside.bytes_to_device,
          .bytes_on_devices = outside.bytes_on_devices,
          .copies = outside.copies,
          .waits = outside.waits,
          .waited_ns = outside.waited_ns};
}

}  // namespace outback::core
