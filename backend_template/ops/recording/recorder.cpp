// The recorder: a kernel at a dispatch key of its own (core::recorder_key), which the operators of
// a thread pass while that thread captures. It records those that CPU kernels serve.
#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <memory>
#include <mutex>

#include "backend_template/core/captures/capture.h"
#include "backend_template/core/graphs/host_program.h"
#include "backend_template/core/graphs/recording.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/ops/in_place/named_device.h"
#include "backend_template/ops/next_provider.h"
#include "backend_template/ops/recording/declined.h"
#include "backend_template/ops/recording/host_call.h"
#include "backend_template/ops/recording/operator_kind.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {
namespace {

// Records a call if it is of a CPU kernel's, and then returns true.
bool has_recorded(const c10::OperatorHandle& op,
                  operator_kind (*kind_of)(const c10::OperatorHandle&), torch::jit::Stack& stack) {
  // The capture to record in, if there is one, is that of the current stream there.
  const auto device = device_named_by(op, stack);
  const auto open = device ? core::capture_of(core::current_stream(device->index())) : nullptr;
  if (open == nullptr) {
    // Perhaps another thread ended the capture: then this thread's operators need not come here.
    core::leave_recorder_if_over();
    return false;
  }
  if (open->program() == nullptr || !core::records_host_operators(device->index())) return false;
  const operator_kind kind = kind_of(op);
  if (kind == operator_kind::answers_host) {
    refuse_operator(*open, op, "the host needs a value or a shape that only its results tell");
  }
  if (kind != operator_kind::host) return false;
  record_host_call(op, *open, *device, stack);
  return true;
}

class recorder final : public c10::OperatorKernel {
 public:
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack) {
    if (has_recorded(op, &kind_of, *stack)) return;
    constexpr c10::DispatchKeySet below(c10::DispatchKeySet::FULL_AFTER, core::recorder_key);
    op.redispatchBoxed(keys & below, stack);
  }
};

void record_declined(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                     torch::jit::Stack* stack) {
  if (has_recorded(op, &kind_after_vendor, *stack)) return;
  kernel_after(declined_by::vendor, op).kernel->callBoxed(op, keys, stack);
}

// Registers the recorder: as the fallback of its key, and as a kernel of each operator whose
// composite kernel would come before that fallback. Core calls it when a capture begins, from any
// thread.
void prepare() {
  // Leaked, since operators may run until the process ends.
  static auto& guard = *new std::mutex;
  static auto& to = *new registrar(*new operator_names);
  const std::lock_guard<std::mutex> lock(guard);
  const auto kernel = [] {
    return c10::KernelFunction::makeFromBoxedFunctor(std::make_unique<recorder>());
  };
  to.add_fallback(core::recorder_key, kernel());
  // Asks again on each capture: a library loaded since the last one may have registered kernels.
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    const auto op = dispatcher.findSchema(name);
    if (!op || op->hasKernelForDispatchKey(core::recorder_key) || !hides_its_kernel(*op)) continue;
    to.add_boxed(*op, core::recorder_key, kernel());
  }
}

}  // namespace

const c10::KernelFunction& recorder_of_declined() {
  static const auto& made =
      *new c10::KernelFunction(c10::KernelFunction::makeFromBoxedFunction<&record_declined>());
  return made;
}

void register_recorder() {
  core::set_operator_recorder(&prepare);
}

}  // namespace outback::ops
