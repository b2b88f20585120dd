#include "backend_template/core/graphs/recording.h"

#include <c10/core/impl/LocalDispatchKeySet.h>

#include <atomic>

#include "backend_template/core/captures/capture.h"

namespace outback::core {
namespace {

std::atomic<recorder_preparation> preparation{nullptr};

// The number under which this thread has entered the recorder. 0: it has not, and if its operators
// come there all the same, then with keys that autograd has lent it and takes back itself.
thread_local constinit uint64_t number_here = 0;

}  // namespace

void set_operator_recorder(void (*prepare)()) noexcept {
  preparation.store(prepare, std::memory_order_release);
}

recorder_preparation operator_recorder() noexcept {
  return preparation.load(std::memory_order_acquire);
}

uint64_t enter_recorder() noexcept {
  static constinit std::atomic<uint64_t> last{0};
  if (number_here == 0) number_here = last.fetch_add(1, std::memory_order_relaxed) + 1;
  c10::impl::tls_set_dispatch_key_included(recorder_key, true);
  return number_here;
}

void leave_recorder_if_over() noexcept {
  // Without a number the key may be there all the same: lent by autograd, or put back by a guard,
  // such as inference_mode's, that was open when the capture ended.
  if (any_capture_records(number_here)) return;
  number_here = 0;
  c10::impl::tls_set_dispatch_key_included(recorder_key, false);
}

}  // namespace outback::core
