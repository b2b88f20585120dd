#include "backend_template/core/operators/call_notes.h"

namespace outback::core {
namespace {

struct shared_notes {
  std::atomic<uint64_t> bytes_to_host{0}, bytes_to_device{0}, bytes_on_devices{0};
  std::atomic<uint64_t> copies{0}, waits{0};
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

void detail::note_wait() noexcept {
  if (notes_of_call != nullptr) {
    ++notes_of_call->waits;
  } else {
    ++outside.waits;
  }
}

void detail::note_kernel(lent_kernel kernel) noexcept {
  if (notes_of_call != nullptr) notes_of_call->kernel = kernel;
}

call_notes notes_outside_operators() noexcept {
  return {outside.bytes_to_host, outside.bytes_to_device, outside.bytes_on_devices,
          outside.copies,        outside.waits,           lent_kernel::none};
}

}  // namespace outback::core
