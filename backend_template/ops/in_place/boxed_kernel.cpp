#include "backend_template/ops/in_place/boxed_kernel.h"

#include <ATen/core/Generator.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/streams/sync_debug.h"
#include "backend_template/ops/in_place/bare_tensors.h"
#include "backend_template/ops/in_place/kernel_call.h"
#include "backend_template/ops/in_place/named_device.h"
#include "backend_template/ops/in_place/op_facts.h"
#include "backend_template/ops/in_place/stack_tensors.h"
#include "backend_template/ops/registrar.h"

namespace outback::ops {
namespace {

void lend_value(kernel_call& call, c10::IValue& value, access how, mixing allowed) {
  if (value.isDevice()) {
    value = call.lend(value.toDevice());
  } else if (value.isStorage()) {
    value = call.lend(value.toStorage());
  } else {
    replace_tensors(
        value, [&](at::Tensor&& tensor) { return call.lend(std::move(tensor), how, allowed); });
  }
}

// A missing generator is replaced too.
void lend_generator(const kernel_call& call, c10::IValue& value) {
  const at::Generator lent = call.lend(value.isGenerator() ? value.toGenerator() : at::Generator());
  if (lent.defined()) value = lent;
}

// Visits the numbers of the bits that are set, from the lowest on.
template <class Visit>
void for_each_bit(uint64_t bits, Visit visit) {
  for (; bits != 0; bits &= bits - 1) visit(static_cast<size_t>(std::countr_zero(bits)));
}

// The version counters of lists that a call changes. Torch leaves it to the kernels of these
// operators to count: a twin's fast kernels count, of the list that they get, and its slow ones
// call operators, which below autograd do not. Derivatives of a value that was overwritten would be
// wrong without a word.
class changed_lists {
 public:
  changed_lists(const op_facts& facts, const torch::jit::Stack& stack) {
    if (C10_LIKELY(!facts.changes_lists)) return;
    const auto arguments = torch::jit::last(stack, facts.arguments);
    for_each_bit(facts.written, [&](size_t i) {
      for_each_tensor(arguments[i], [&](const at::Tensor& tensor) {
        if (tensor.defined() && is_ours(tensor) && !tensor.is_inference()) {
          before_.emplace_back(tensor, tensor._version());
        }
      });
    });
  }

  /// Counts for the tensors for which nobody has.
  void count() const {
    for (const auto& [tensor, version] : before_) {
      if (tensor._version() == version) tensor.unsafeGetTensorImpl()->bump_version();
    }
  }

 private:
  std::vector<std::pair<at::Tensor, int64_t>> before_;
};

// The device of the tensors among the arguments, if they are bare tensors of one of ours.
std::optional<c10::Device> device_of_bare(c10::ArrayRef<c10::IValue> arguments) {
  std::optional<c10::Device> device;
  const auto fits = [&](const c10::IValue& value) {
    const at::Tensor& tensor = value.toTensor();
    if (!device && tensor.defined() && is_ours(tensor)) device = tensor.device();
    return device && is_bare(*device, tensor);
  };
  for (const c10::IValue& value : arguments) {
    if (value.isTensor() && !fits(value)) return std::nullopt;
    if (!value.isTensorList()) continue;
    const auto list = value.toListRef();
    if (!std::all_of(list.begin(), list.end(), fits)) return std::nullopt;
  }
  return device;
}

// Runs an operator that changes lists in place on the lists themselves, if they and its kernel are
// of that kind. The kernel calls operators for each tensor where the lists do not suit it.
bool ran_on_lists(const op_facts& facts, const c10::OperatorHandle& op, operator_text name,
                  torch::jit::Stack& stack) {
  const auto device = device_of_bare(torch::jit::last(stack, facts.arguments));
  if (!device || !takes_bare_lists(*device)) return false;
  kernel_call call;
  call.lend(*device);
  if (!call.target().has_kernel_of(op)) return false;
  call.begin(facts.judged_as);
  call.run(name, [&] { op.redispatchBoxed(call.target().keys, &stack); });
  return true;
}

// One call of a boxed kernel: the arguments are the last ones on the stack, and the results replace
// them.
void run(const op_facts& facts, const c10::OperatorHandle& op, c10::DispatchKey layout,
         torch::jit::Stack& stack) {
  if (C10_UNLIKELY(facts.tells_host)) core::note_synchronizing();
  const operator_text name{op.schema().name().c_str(), op.schema().overload_name().c_str()};
  const changed_lists changed(facts, stack);
  if (C10_UNLIKELY(facts.changes_lists) && ran_on_lists(facts, op, name, stack)) {
    return changed.count();
  }
  const auto has_kernel = [&](const kernel_target& twin) {
    return !facts.on_cpu_alone && twin.has_kernel_of(op, layout);
  };
  kernel_call call(mixing::refused, has_kernel);
  if (C10_UNLIKELY(facts.asks_requires_grad)) call.keep_requires_grad();
  const size_t first = stack.size() - facts.arguments;
  for_each_bit(facts.handled, [&](size_t i) {
    const uint64_t bit = uint64_t{1} << i;
    lend_value(call, stack[first + i], facts.access_at(bit), facts.mixing_at(bit));
  });
  call.begin(facts.judged_as);
  if (!facts.judged_as) call.note_for_report();
  for_each_bit(facts.generators, [&](size_t i) { lend_generator(call, stack[first + i]); });

  // With this key alone, so that no other key of the tensors takes part.
  call.run(name,
           [&] { op.redispatchBoxed(c10::DispatchKeySet(call.target().key(layout)), &stack); });

  call.finish();
  changed.count();
  if (C10_UNLIKELY(facts.results_stay_on_cpu)) return;
  for (size_t i = stack.size() - facts.returns; i < stack.size(); ++i) {
    replace_tensors(stack[i],
                    [&](at::Tensor&& result) { return call.take_back(std::move(result)); });
  }
}

// The target that serves an operator, if it has a kernel at all: of the device that the arguments
// name.
const kernel_target& target_of_call(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  const std::optional<c10::Device> device = device_named_by(op, stack);
  return device ? target_of(device->index()) : cpu_target;
}

// True if a list has tensors of more than one of our devices, or of the CPU's besides. A twin's own
// kernels for lists go tensor by tensor then, as what composes the operator does.
bool has_mixed_list(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  std::optional<c10::Device> first;
  bool is_mixed = false, has_strangers = false;
  for (const c10::IValue& value : torch::jit::last(stack, op.schema().arguments().size())) {
    if (!value.isTensorList()) continue;
    for (const c10::IValue& element : value.toListRef()) {
      if (!element.toTensor().defined()) continue;
      const c10::Device device = element.toTensor().device();
      if (!first) first = device;
      if (device != *first) is_mixed = true;
      if (device.type() != core::device_type && !device.is_cpu()) has_strangers = true;
    }
  }
  return is_mixed && !has_strangers;
}

// For a derivative that nobody calls unless a vendor has served the operator itself: PyTorch has
// linear_backward and matmul_backward for a kernel of theirs alone.
std::string advice_for(const c10::OperatorHandle& op) {
  constexpr std::string_view suffix = "_backward";
  std::string name = op.operator_name().name;
  if (!std::string_view(name).ends_with(suffix)) return {};
  name.resize(name.size() - suffix.size());
  const auto forward = c10::Dispatcher::singleton().findSchema({name, ""});
  const bool is_replaced =
      forward && forward->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) &&
      forward->hasKernelForDispatchKey(c10::DispatchKey::PrivateUse1);
  if (!is_replaced) return {};
  return c10::str("; its kernel for ", name,
                  " takes the place of what PyTorch composes: give this one a kernel too, or serve "
                  "the parts instead");
}

void check_has_kernel(bool has_one, const c10::OperatorHandle& op, const kernel_target& target) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      has_one, op.operator_name(), " is not implemented for ", core::backend_name(),
      ": it has neither a kernel of its own for this device (dispatch key PrivateUse1) nor one for "
      "the ",
      c10::DeviceTypeName(target.type), " that could run in its place",
      has_one ? std::string() : advice_for(op));
}

// Runs an operator that is for twins alone on another device: as torch composes it for a backend
// without a kernel for it, such as PrivateUse3. That is what this device is to torch in a build
// without twins.
constexpr auto no_backend = c10::BackendComponent::PrivateUse3Bit;

c10::DispatchKey composing_key(c10::DispatchKey layout) {
  return c10::toRuntimePerBackendFunctionalityKey(layout, no_backend);
}

void run_composed(const c10::OperatorHandle& op, c10::DispatchKey layout,
                  const kernel_target& target, torch::jit::Stack& stack) {
  const c10::DispatchKey key = composing_key(layout);
  check_has_kernel(op.hasComputedKernelForDispatchKey(key), op, target);
  op.redispatchBoxed(c10::DispatchKeySet(key), &stack);
}

// For autograd's key, of an operator with a derivative of its own where it has a kernel, which a
// twin's is: elsewhere the derivative is that of the operators that it is composed of.
class derivative_of_one final : public c10::OperatorKernel {
 public:
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack) {
    const kernel_target& target = target_of_call(op, *stack);
    if (!op.hasKernelForDispatchKey(target.key())) {
      return op.redispatchBoxed(keys | c10::DispatchKeySet(no_backend), stack);
    }
    // Once, since torch keeps something of each answer (registrar::serves). Twins are of one type.
    std::call_once(once_, [&] {
      kernel_.emplace(op.getComputedKernelForDispatchKey(c10::toRuntimePerBackendFunctionalityKey(
          c10::DispatchKey::AutogradFunctionality, target.backend)));
    });
    kernel_->callBoxed(op, keys, stack);  // NOLINT(bugprone-unchecked-optional-access): made above
  }

 private:
  std::once_flag once_;
  std::optional<c10::SafeKernelFunction> kernel_;
};

class kernel_of_one final : public c10::OperatorKernel {
 public:
  kernel_of_one(c10::DispatchKey layout, bool for_twins_alone)
      : layout_(layout), for_twins_alone_(for_twins_alone) {}
  ~kernel_of_one() override { delete facts_.load(std::memory_order_relaxed); }

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/,
                  torch::jit::Stack* stack) {
    if (C10_UNLIKELY(for_twins_alone_)) {
      const kernel_target& target = target_of_call(op, *stack);
      const bool is_composed = !op.hasKernelForDispatchKey(target.key(layout_)) ||
                               (has_mixed_list(op, *stack) &&
                                op.hasComputedKernelForDispatchKey(composing_key(layout_)));
      if (is_composed) return run_composed(op, layout_, target, *stack);
    }
    const op_facts* facts = facts_.load(std::memory_order_acquire);
    if (C10_UNLIKELY(facts == nullptr)) facts = learn(op);
    run(*facts, op, layout_, *stack);
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
  const c10::DispatchKey layout_;
  const bool for_twins_alone_;
};

// Works out the facts on each call: it serves many operators, and those that are called often have
// a kernel of their own.
class kernel_of_any final : public c10::OperatorKernel {
 public:
  explicit kernel_of_any(const operator_names& excluded) : excluded_(excluded) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/,
                  torch::jit::Stack* stack) {
    const kernel_target& target = target_of_call(op, *stack);
    check_has_kernel(cpu_target.has_kernel_of(op) || target.has_kernel_of(op), op, target);
    TORCH_CHECK_NOT_IMPLEMENTED(
        excluded_.count(op.operator_name()) == 0, op.operator_name(), " is not implemented for ",
        core::backend_name(),
        ": the backend excludes it from what Outback serves, and has no kernel of its own for it");
    run(facts_of(op), op, c10::DispatchKey::Dense, *stack);
  }

 private:
  const operator_names& excluded_;
};

c10::KernelFunction make_kernel(c10::DispatchKey layout, bool for_twins_alone) {
  return c10::KernelFunction::makeFromBoxedFunctor(
      std::make_unique<kernel_of_one>(layout, for_twins_alone));
}

}  // namespace

c10::KernelFunction boxed_kernel(c10::DispatchKey layout) {
  return make_kernel(layout, /*for_twins_alone=*/false);
}

c10::KernelFunction boxed_fallback(const operator_names& excluded) {
  return c10::KernelFunction::makeFromBoxedFunctor(std::make_unique<kernel_of_any>(excluded));
}

// Registers a kernel for each operator instead of one fallback: the dispatcher prefers
// CompositeExplicitAutograd kernels to a fallback, so a structured operator would first decompose
// into its out= variant. Operators with a CompositeImplicitAutograd kernel stay composed, since
// their derivative comes from their parts. The exceptions: nested tensors, which the parts do not
// take; what a twin alone has a kernel for, as CUDA has for rms_norm; and what reads memory by
// pointers, which has no derivative on the CPU either.
void register_boxed_kernels(registrar& to) {
  using c10::DispatchKey;
  constexpr std::array layouts{DispatchKey::Dense, DispatchKey::Sparse, DispatchKey::SparseCsr,
                               DispatchKey::Quantized, DispatchKey::NestedTensor};
  const bool may_have_twins = !twin_targets().empty();
  // Importing the backend goes through all operators, of which every second one gets a kernel.
  for (const c10::OperatorHandle& op : registrar::all_operators()) {
    if (!op.operator_name().name.starts_with("aten::")) continue;
    const bool dense_on_pointers = is_composed_on_pointers(op);
    for (const DispatchKey layout : layouts) {
      const bool on_cpu = op.hasKernelForDispatchKey(cpu_target.key(layout));
      const bool on_pointers = layout == DispatchKey::Dense && dense_on_pointers;
      const bool for_twins_alone =
          may_have_twins && !on_cpu && !on_pointers && is_for_twins_alone(op, layout);
      if (!on_cpu && !on_pointers && !for_twins_alone) continue;
      const bool is_composed = op.hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd);
      if (is_composed && on_pointers) {
        to.add_boxed(op, DispatchKey::AutogradPrivateUse1, c10::KernelFunction::makeFallthrough());
      } else if (is_composed && layout != DispatchKey::NestedTensor) {
        if (!for_twins_alone) continue;
        to.add_boxed(
            op, DispatchKey::AutogradPrivateUse1,
            c10::KernelFunction::makeFromBoxedFunctor(std::make_unique<derivative_of_one>()));
      }
      const DispatchKey ours =
          c10::toRuntimePerBackendFunctionalityKey(layout, c10::BackendComponent::PrivateUse1Bit);
      to.add_boxed(op, ours, make_kernel(layout, for_twins_alone));
    }
  }
}

}  // namespace outback::ops
