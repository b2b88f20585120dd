#include "backend_template/core/streams/kernel_faults.h"

#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

#include <memory>

#include "backend_template/core/captures/capture.h"
#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/runtime/interpreter_lock.h"
#include "backend_template/core/runtime/launch_blocking.h"
#include "backend_template/core/runtime/runtime.h"

namespace outback::core {
namespace {

// The word of a device.
struct fault_word {
  void* address = nullptr;
  // A stream for the word alone, so that reading it waits for no other work. Null, the default
  // stream, if the runtime has no group streams.
  outback_stream stream = nullptr;
};

// Leaked: tensors may outlive main().
constinit std::array<std::atomic<fault_word*>, max_devices> words{};

void wait_for(const fault_word& word, c10::DeviceIndex device) {
  const auto* streams = runtime().streams;
  const auto sync = [&] {
    return streams != nullptr ? streams->sync(runtime().self, device, word.stream)
                              : runtime().device_sync(runtime().self, device);
  };
  check(unlocked(sync), streams != nullptr ? "streams.sync" : "device_sync", device);
}

void clear(const fault_word& word, c10::DeviceIndex device) {
  const int32_t none_yet = 0;
  check(runtime().mem_fill(runtime().self, device, word.address, sizeof(none_yet), &none_yet,
                           sizeof(none_yet), word.stream),
        "mem_fill", device, sizeof(none_yet));
  // A kernel that runs later may write a fault.
  wait_for(word, device);
}

void destroy(const fault_word& word, c10::DeviceIndex device) noexcept {
  if (word.stream != nullptr) runtime().streams->destroy(runtime().self, device, word.stream);
  if (word.address != nullptr) runtime().mem_free(runtime().self, device, word.address);
}

// Without a lock, which must not be held around a slot. Of two threads that make a word, one gives
// its own back.
fault_word& make_word(c10::DeviceIndex device) {
  auto made = std::make_unique<fault_word>();
  try {
    check(runtime().mem_alloc(runtime().self, device, sizeof(int32_t), &made->address), "mem_alloc",
          device, sizeof(int32_t));
    check_made(made->address, "memory", "mem_alloc", device);
    if (const outback_streams* const streams = runtime().streams) {
      check(streams->create(runtime().self, device, 0, &made->stream), "streams.create", device);
      check_made(made->stream, "stream", "streams.create", device);
    }
    clear(*made, device);
  } catch (...) {
    destroy(*made, device);
    throw;
  }
  fault_word* others = nullptr;
  if (words[device].compare_exchange_strong(others, made.get(), std::memory_order_acq_rel)) {
    return *made.release();
  }
  destroy(*made, device);
  return *others;
}

fault_word& word_of(c10::DeviceIndex device) {
  fault_word* const known = words[device].load(std::memory_order_acquire);
  return C10_LIKELY(known != nullptr) ? *known : make_word(device);
}

// By number - 1. The last one stands for all that found no place.
constexpr int32_t most_faults = 256;
constinit std::array<std::atomic<const char*>, most_faults> texts{};
constinit std::atomic<int32_t> text_count{0};

const char* text_of(int32_t number) {
  const char* const text = number > 0 && number < most_faults
                               ? texts[number - 1].load(std::memory_order_acquire)
                               : nullptr;
  return text != nullptr ? text : "a kernel has found that its arguments are wrong";
}

}  // namespace

// Two threads may both make a number, for the same text.
int32_t kernel_fault::make_number() {
  const int32_t place = text_count.fetch_add(1, std::memory_order_relaxed);
  if (place >= most_faults - 1) {
    text_count.store(most_faults - 1, std::memory_order_relaxed);
    return most_faults;
  }
  texts[place].store(what_, std::memory_order_release);
  number_.store(place + 1, std::memory_order_relaxed);
  return place + 1;
}

void give_back_fault_words() noexcept {
  for (c10::DeviceIndex device = 0; device < device_count(); ++device) {
    const fault_word* const word = words[device].exchange(nullptr, std::memory_order_acq_rel);
    if (word != nullptr) destroy(*word, device);
  }
}

fault_watch::fault_watch(const c10::Stream& stream)
    : stream_(state_of(stream)), device_(stream.device_index()), word_(nullptr) {
  ensure_started();
  word_ = word_of(device_).address;
  if (any_capture(device_) && capture_of(stream) != nullptr) {
    detail::faults[device_].in_captures.store(true, std::memory_order_relaxed);
  }
  arm();
}

void detail::throw_kernel_fault(c10::DeviceIndex device) {
  const fault_word* const word = words[device].load(std::memory_order_acquire);
  if (word == nullptr) return;
  int32_t number = 0;
  const auto copy = [&] {
    return runtime().mem_copy(runtime().self, &number, OUTBACK_HOST, word->address, device,
                              sizeof(number), word->stream);
  };
  check(unlocked(copy), "mem_copy", device, sizeof(number));
  wait_for(*word, device);
  if (C10_LIKELY(number == 0)) return;
  clear(*word, device);
  const char* const hint =
      is_launch_blocking()
          ? ""
          : ". An operator that ran earlier is the cause: OUTBACK_LAUNCH_BLOCKING=1 makes each "
            "operator wait for its work, so that this one fails itself";
  throw c10::AcceleratorError(
      {__func__, __FILE__, static_cast<uint32_t>(__LINE__)}, OUTBACK_INVALID_ARGUMENT,
      c10::str(backend_name(), ": device ", int{device}, ": ", text_of(number), hint));
}

}  // namespace outback::core
