#include "backend_template/ops/in_place/boxed_kernel.h"

#include <ATen/core/Generator.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>
#include <c10/util/Exception.h>

#include <atomic>
#include <bit>
#include <memory>
#include <utility>

#include "backend_template/core/interfaces/generator.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/streams/sync_debug.h"
#include "backend_template/ops/in_place/cpu_call.h"
#include "backend_template/ops/in_place/op_facts.h"

namespace outback::ops {
namespace {

// Replaces the device's tensors, storages and devices in `value` by the CPU's. A list is replaced
// by a new one, since the caller may hold the old list too.
void lend_value(cpu_call& call, c10::IValue& value, access how, mixing allowed) {
  if (value.isTensor()) {
    value = call.lend(std::move(value).toTensor(), how, allowed);
  } else if (value.isTensorList()) {
    c10::List<at::Tensor> lent;
    const c10::List<at::Tensor> list = std::move(value).toTensorList();
    lent.reserve(list.size());
    for (const at::Tensor& tensor : list.vec()) lent.push_back(call.lend(tensor, how, allowed));
    value = std::move(lent);
  } else if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> lent;
    const auto list = std::move(value).toOptionalTensorList();
    lent.reserve(list.size());
    for (const std::optional<at::Tensor>& tensor : list.vec()) {
      lent.push_back(tensor ? std::optional(call.lend(*tensor, how, allowed)) : std::nullopt);
    }
    value = std::move(lent);
  } else if (value.isDevice()) {
    call.set_device(value.toDevice());
    value = c10::Device(c10::kCPU);
  } else if (value.isStorage()) {
    value = call.lend(value.toStorage());
  }
}

// Replaces a generator of the device, or a missing one, by a CPU generator that continues the
// device's random numbers. After `call.begin()`, which settles the device.
void lend_generator(const cpu_call& call, c10::IValue& value) {
  const at::Generator given = value.isGenerator() ? value.toGenerator() : at::Generator();
  std::optional<c10::Device> device = call.device();
  if (!device && given.defined()) device = given.device();
  if (!device || device->type() != core::device_type) return;
  TORCH_CHECK(!given.defined() || given.device() == *device, "Expected a generator of ", *device,
              " but found one of ", given.device());
  value = core::shadow_generator(given, device->index());
}

void take_back_value(cpu_call& call, c10::IValue& value) {
  if (value.isTensor()) {
    value = call.take_back(std::move(value).toTensor());
  } else if (value.isTensorList()) {
    c10::List<at::Tensor> list = std::move(value).toTensorList();
    for (size_t i = 0; i < list.size(); ++i) list.set(i, call.take_back(list.extract(i)));
    value = std::move(list);
  } else if (value.isOptionalTensorList()) {
    auto list = std::move(value).toOptionalTensorList();
    for (size_t i = 0; i < list.size(); ++i) {
      if (std::optional<at::Tensor> tensor = list.extract(i)) {
        list.set(i, call.take_back(*std::move(tensor)));
      }
    }
    value = std::move(list);
  }
}

// Visits the numbers of the bits that are set, from the lowest on.
template <class Visit>
void for_each_bit(uint64_t bits, Visit visit) {
  for (; bits != 0; bits &= bits - 1) visit(static_cast<size_t>(std::countr_zero(bits)));
}

// One call of a boxed kernel: the arguments are the last ones on the stack, and the results replace
// them.
void run(const op_facts& facts, const c10::OperatorHandle& op, c10::DispatchKey target,
         torch::jit::Stack& stack) {
  if (C10_UNLIKELY(facts.tells_host)) core::note_synchronizing();
  cpu_call call;
  if (C10_UNLIKELY(facts.asks_requires_grad)) call.keep_requires_grad();
  const size_t first = stack.size() - facts.arguments;
  for_each_bit(facts.handled, [&](size_t i) {
    const uint64_t bit = uint64_t{1} << i;
    const access how = (facts.overwritten & bit) != 0 ? access::overwrite
                       : (facts.written & bit) != 0   ? access::write
                                                      : access::read;
    lend_value(call, stack[first + i], how,
               (facts.cpu_allowed & bit) != 0 ? mixing::cpu_tensors : mixing::refused);
  });
  call.begin(facts.judged_as);
  for_each_bit(facts.generators, [&](size_t i) { lend_generator(call, stack[first + i]); });

  // With `target` alone, so that no other key of the tensors takes part.
  op.redispatchBoxed(c10::DispatchKeySet(target), &stack);

  call.finish();
  if (C10_UNLIKELY(facts.results_stay_on_cpu)) return;
  for (size_t i = stack.size() - facts.returns; i < stack.size(); ++i) {
    take_back_value(call, stack[i]);
  }
}

class kernel_of_one final : public c10::OperatorKernel {
 public:
  explicit kernel_of_one(c10::DispatchKey target) : target_(target) {}
  ~kernel_of_one() override { delete facts_.load(std::memory_order_relaxed); }

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/,
                  torch::jit::Stack* stack) {
    const op_facts* facts = facts_.load(std::memory_order_acquire);
    if (C10_UNLIKELY(facts == nullptr)) facts = learn(op);
    run(*facts, op, target_, *stack);
  }

 private:
  // The first call keeps the facts. If two threads call at once, the second one's are thrown away.
  const op_facts* learn(const c10::OperatorHandle& op) {
    auto made = std::make_unique<const op_facts>(facts_of(op));
    const op_facts* known = nullptr;
    if (facts_.compare_exchange_strong(known, made.get(), std::memory_order_acq_rel)) {
      return made.release();
    }
    return known;
  }

  std::atomic<const op_facts*> facts_{nullptr};
  c10::DispatchKey target_;
};

// Works out the facts on each call: it serves many operators, and those that are called often have
// a kernel of their own.
class kernel_of_any final : public c10::OperatorKernel {
 public:
  explicit kernel_of_any(const operator_names& excluded) : excluded_(excluded) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/,
                  torch::jit::Stack* stack) {
    TORCH_CHECK_NOT_IMPLEMENTED(
        op.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU), op.operator_name(),
        " is not implemented for ", core::backend_name(),
        ": it has neither a kernel of its own for "
        "this device (dispatch key PrivateUse1) nor one for the CPU that could run in its place");
    TORCH_CHECK_NOT_IMPLEMENTED(
        excluded_.count(op.operator_name()) == 0, op.operator_name(), " is not implemented for ",
        core::backend_name(),
        ": the backend excludes it from what Outback serves, and has no kernel of its own for it");
    run(facts_of(op), op, c10::DispatchKey::CPU, *stack);
  }

 private:
  const operator_names& excluded_;
};

}  // namespace

c10::KernelFunction boxed_kernel(c10::DispatchKey target) {
  return c10::KernelFunction::makeFromBoxedFunctor(std::make_unique<kernel_of_one>(target));
}

c10::KernelFunction boxed_fallback(const operator_names& excluded) {
  return c10::KernelFunction::makeFromBoxedFunctor(std::make_unique<kernel_of_any>(excluded));
}

}  // namespace outback::ops
