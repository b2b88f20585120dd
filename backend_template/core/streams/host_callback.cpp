#include "backend_template/core/streams/host_callback.h"

#include <c10/util/Exception.h>

#include <memory>
#include <utility>

#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/streams/observed.h"
#include "backend_template/core/streams/stream.h"

namespace outback::core {
namespace {

void run_callback(const std::function<void()>& function) noexcept {
  try {
    function();
  } catch (...) {
    warn(backend_name(), ": a host callback threw: ", handled_text());
  }
}

void run_callback_and_delete(void* data) {
  const std::unique_ptr<std::function<void()>> function(static_cast<std::function<void()>*>(data));
  run_callback(*function);
}

}  // namespace

void enqueue_host_callback(const c10::Stream& stream, std::function<void()> function) {
  TORCH_CHECK_VALUE(function != nullptr, backend_name(), ": the host callback is empty");
  ensure_started();
  const outback_callbacks* group = runtime().callbacks;
  if (group == nullptr) {
    synchronize_stream(stream);
    return run_callback(function);
  }
  observed_work called(work::callback, stream);
  // If the slot fails, the function never runs, and `held` deletes it. If the slot succeeds, the
  // callback owns it.
  auto held = std::make_unique<std::function<void()>>(std::move(function));
  check(group->enqueue(runtime().self, stream.device_index(), run_callback_and_delete, held.get(),
                       called.handle()),
        "callbacks.enqueue", stream.device_index());
  (void)held.release();
  called.enqueued();
}

}  // namespace outback::core
