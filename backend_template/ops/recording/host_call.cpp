#include "backend_template/ops/recording/host_call.h"

#include <ATen/core/Generator.h>
#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/Exception.h>

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "backend_template/core/graphs/host_program.h"
#include "backend_template/core/graphs/recording.h"
#include "backend_template/core/interfaces/generator.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/ops/in_place/op_facts.h"
#include "backend_template/ops/in_place/stack_tensors.h"
#include "backend_template/ops/recording/recorded_loans.h"

namespace outback::ops {
namespace {

// With the recorder's key: the operators that the kernel calls are parts of this one step.
constexpr c10::DispatchKeySet keys_above_replays =
    cpu_target.keys_above | c10::DispatchKeySet(core::recorder_key);

// What stays the same from replay to replay. Replays run on threads of the runtime's; they read
// this and copy the stack.
struct recorded_call {
  c10::OperatorHandle op;
  torch::jit::Stack arguments;
  struct random_argument {
    size_t index;
    core::host_program::draw numbers;
  };
  std::vector<random_argument> random;
  std::vector<recorded_loans::copied_result> copied;
  std::vector<recorded_loans::changed_bits> bits;

  // Runs the kernel with the random numbers of one launch, and returns its results.
  torch::jit::Stack run(const core::host_program::positions& starts) const {
    torch::jit::Stack stack = arguments;
    for (const random_argument& argument : random) {
      core::philox_position position = starts.at(argument.numbers.generator);
      position.offset += argument.numbers.offset;
      stack[argument.index] = core::cpu_generator_at(position);
    }
    for (const recorded_loans::changed_bits& lent : bits) {
      lent.alias._set_conj(lent.conj);
      lent.alias._set_neg(lent.neg);
    }
    const c10::impl::ExcludeDispatchKeyGuard below(keys_above_replays);
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &stack);
    return stack;
  }

  void replay(const core::host_program::positions& starts) const;
};

// The aliases lie over the graph's memory, so what the kernel writes through them is in place. New
// results are copied to the memory that the first ones got.
void recorded_call::replay(const core::host_program::positions& starts) const {
  // A replay calls no operators of the program's, which anybody who records them would count.
  const at::DisableRecordFunctionGuard unrecorded;
  torch::jit::Stack results = run(starts);
  if (copied.empty()) return;
  size_t place = 0;
  auto next = copied.begin();
  for (const c10::IValue& value : results) {
    for_each_tensor(value, [&](const at::Tensor& result) {
      if (next != copied.end() && next->place == place) {
        const c10::Storage& storage = result.storage();
        TORCH_CHECK(storage.nbytes() == next->size, op.schema().name(), " has a result of ",
                    storage.nbytes(), " bytes, which had ", next->size, " in the capture");
        if (next->size != 0) std::memcpy(next->data, storage.data(), next->size);
        ++next;
      }
      ++place;
    });
  }
}

recorded_call::random_argument take_random(const c10::IValue& given, size_t index,
                                           core::capture& open, c10::Device device) {
  const at::Generator generator = given.isGenerator() ? given.toGenerator() : at::Generator();
  TORCH_CHECK(!generator.defined() || generator.device() == device, "Expected a generator of ",
              device, " but found one of ", generator.device());
  return {index, open.program()->take_numbers(generator, device.index())};
}

// True if pinned CPU tensors may take part: in a copy_ with non_blocking=True, its argument 2. Any
// other copy makes the host wait.
bool takes_pinned(const c10::OperatorHandle& op, const torch::jit::Stack& arguments) {
  return op.schema().name() == "aten::copy_" && arguments.at(2).toBool();
}

recorded_call lend_arguments(const c10::OperatorHandle& op, const op_facts& facts,
                             core::capture& open, c10::Device device, recorded_loans& lent,
                             torch::jit::Stack& arguments) {
  const bool may_be_pinned = takes_pinned(op, arguments);
  recorded_call call{op, {}, {}, {}, {}};
  for (size_t i = 0; i < arguments.size(); ++i) {
    const uint64_t bit = uint64_t{1} << i;
    c10::IValue& value = arguments[i];
    if (value.isStorage()) refuse_operator(open, op, "it takes a storage");
    replace_tensors(value, [&](at::Tensor&& tensor) {
      return lent.lend(std::move(tensor), (facts.written & bit) != 0, facts.mixing_at(bit),
                       may_be_pinned);
    });
    if (value.isDevice()) value = c10::Device(c10::kCPU);
    if ((facts.generators & bit) != 0) call.random.push_back(take_random(value, i, open, device));
  }
  call.arguments = std::move(arguments);
  return call;
}

}  // namespace

void refuse_operator(core::capture& open, const c10::OperatorHandle& op, const char* why) {
  const std::string& overload = op.schema().overload_name();
  core::refuse_in_capture(&open, op.schema().name() + (overload.empty() ? "" : "." + overload) +
                                     " cannot be captured: " + why);
}

void record_host_call(const c10::OperatorHandle& op, core::capture& open, c10::Device device,
                      torch::jit::Stack& stack) {
  if (!op.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU)) {
    refuse_operator(open, op, "the CPU has no kernel for it");
  }
  const op_facts facts = facts_of(op);
  torch::jit::Stack arguments(std::make_move_iterator(stack.end() - facts.arguments),
                              std::make_move_iterator(stack.end()));
  stack.resize(stack.size() - facts.arguments);
  recorded_loans lent(op, open, device);
  recorded_call call = lend_arguments(op, facts, open, device, lent, arguments);
  // Runs once now, so that the results have shapes and values for the operators that follow.
  lent.begin();
  torch::jit::Stack results = call.run(open.program()->starts());
  lent.finish();
  if (!facts.results_stay_on_cpu) {
    for (c10::IValue& value : results) {
      replace_tensors(value,
                      [&](at::Tensor&& tensor) { return lent.take_back(std::move(tensor)); });
    }
  }
  lent.leave_memory_to_graph(call.arguments);
  call.copied = lent.copied();
  call.bits = lent.bits();
  // An operator that writes nothing and makes no new memory, a view say, has nothing to replay.
  if (lent.writes() || !call.copied.empty()) {
    const auto kept = std::make_shared<const recorded_call>(std::move(call));
    open.program()->add(
        core::current_stream(device.index()),
        [kept](const core::host_program::positions& starts) { kept->replay(starts); });
    core::mark_busy(core::current_stream(device.index()));
  }
  for (c10::IValue& value : results) stack.push_back(std::move(value));
}

}  // namespace outback::ops
