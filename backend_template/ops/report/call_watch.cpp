#include "backend_template/ops/report/call_watch.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <c10/util/flat_hash_map.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/operators/call_notes.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/ops/report/call_log.h"

namespace outback::ops {
namespace {

int64_t nanoseconds_now() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

// A fake tensor says that it is on the device, and has no memory there.
bool is_fake(const c10::TensorImpl& tensor) {
  return tensor.key_set().has(c10::DispatchKey::Python) && tensor.has_storage() &&
         tensor.unsafe_storage().device().is_meta();
}

bool is_on_device(const at::Tensor& tensor) {
  if (!tensor.defined()) return false;
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  return impl.key_set().has_backend(c10::BackendComponent::PrivateUse1Bit) && !is_fake(impl);
}

// Whether this thread's operators work out shapes or a graph, as torch.compile traces them. What
// they compute besides, on tensors of the device, are calls of their own, below these modes.
bool are_operators_traced() {
  using c10::impl::TorchDispatchModeKey;
  using c10::impl::TorchDispatchModeTLS;
  if (C10_LIKELY(!TorchDispatchModeTLS::any_modes_set())) return false;
  constexpr std::array tracing{TorchDispatchModeKey::FAKE, TorchDispatchModeKey::FUNCTIONAL,
                               TorchDispatchModeKey::PROXY};
  return std::any_of(tracing.begin(), tracing.end(), [](TorchDispatchModeKey mode) {
    return TorchDispatchModeTLS::get_mode(mode).has_value();
  });
}

// Keys at which somebody turns the call into calls of other operators, which are recorded too.
bool is_taken_apart(const at::Tensor& tensor) {
  using c10::DispatchKey;
  constexpr c10::DispatchKeySet keys{DispatchKey::Python, DispatchKey::Functionalize,
                                     DispatchKey::FuncTorchBatched,
                                     DispatchKey::FuncTorchGradWrapper};
  return tensor.unsafeGetTensorImpl()->key_set().has_any(keys);
}

template <class Visit>
void for_each_tensor(const c10::IValue& value, const Visit& visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isTensorList()) {
    for (const c10::IValue& element : value.toListRef()) for_each_tensor(element, visit);
  } else if (value.isList()) {
    for (const c10::IValue& element : value.toListRef()) {
      if (element.isTensor()) for_each_tensor(element, visit);
    }
  }
}

// An expanded tensor has no more bytes than its storage.
uint64_t bytes_of_tensor(const at::Tensor& tensor) {
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  if (!impl.has_storage() || is_taken_apart(tensor)) return 0;
  return std::min<uint64_t>(static_cast<uint64_t>(impl.numel()) * impl.itemsize(),
                            impl.unsafe_storage().nbytes());
}

std::vector<int64_t> sizes_of(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.is_nested() || is_taken_apart(tensor)) return {};
  return tensor.sizes().vec();
}

formula_argument argument_of(const c10::IValue& value) {
  if (value.isTensor()) return sizes_of(value.toTensor());
  if (value.isBool()) return value.toBool();
  if (value.isInt()) return value.toInt();
  if (value.isDouble()) return value.toDouble();
  if (value.isIntList()) return value.toIntVector();
  if (value.isBoolList()) {
    const auto flags = value.toBoolList();
    return std::vector<bool>(flags.begin(), flags.end());
  }
  return {};
}

struct call {
  const at::RecordFunction* function;
  const known_operator* op;
  c10::ScalarType dtype;
  provider who;
  uint32_t place;
  int64_t begun;
  int64_t inner_ns;  // of the operators that it called, as far as they are on the device
  uint64_t tensor_bytes;
  uint64_t gathered_bytes;  // of the tensor that it gathers from, which count as far as its results
  bool calls_itself;  // as autocast, which casts the arguments, and modes of Python's make it do
  core::call_notes notes;
  core::call_notes* notes_before;
  formula_arguments arguments;
};

std::atomic<place_of_caller> find_place{nullptr};

// What a thread has of its own. It never dies before the thread's last operator: see `mine`.
struct thread_calls {
  call_log log;
  std::deque<call> open;  // whose elements do not move; those from `depth` on are free
  size_t depth = 0;
  ska::flat_hash_map<const char*, known_operator*> known;  // by the schema's own text
};

// An operator that runs while the thread's objects are destroyed is not recorded.
thread_local bool is_thread_over = false;
struct thread_owner {
  std::unique_ptr<thread_calls> calls;
  ~thread_owner() {
    is_thread_over = true;
    core::detail::notes_of_call = nullptr;
  }
};

thread_calls* mine() {
  if (is_thread_over) return nullptr;
  thread_local thread_owner owner;
  if (C10_UNLIKELY(!owner.calls)) owner.calls = std::make_unique<thread_calls>();
  return owner.calls.get();
}

// Null for what is no operator, such as autograd's functions.
known_operator* operator_of(thread_calls& calls, const at::RecordFunction& function) {
  const auto found = calls.known.find(function.name());
  // The text of an operator that is gone may be another one's now.
  if (C10_LIKELY(found != calls.known.end() && found->second->name == function.name())) {
    return found->second;
  }
  const auto name = function.operator_name();
  if (!name) return nullptr;
  const auto op = c10::Dispatcher::singleton().findSchema(*name);
  if (!op) return nullptr;
  known_operator& known = knowledge_of(*op);
  if (function.name() == op->schema().name().c_str()) {
    calls.known[function.name()] = &known;
  }
  return &known;
}

void look_at_arguments(call& into, c10::ArrayRef<const c10::IValue> arguments) {
  bool is_here = false, is_apart = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const c10::IValue& argument = arguments[i];
    const bool is_output = i < 64 && (into.op->outputs >> i & 1) != 0;
    for_each_tensor(argument, [&](const at::Tensor& tensor) {
      if (is_on_device(tensor)) {
        is_here = true;
        is_apart |= is_taken_apart(tensor);
        if (into.dtype == c10::ScalarType::Undefined) into.dtype = tensor.scalar_type();
      }
      if (is_output || into.op->is_view) return;
      const bool is_gathered = static_cast<int>(i) == into.op->gathered;
      (is_gathered ? into.gathered_bytes : into.tensor_bytes) += bytes_of_tensor(tensor);
    });
    if (argument.isDevice() && argument.toDevice().type() == core::device_type) is_here = true;
  }
  is_here = is_here && !are_operators_traced();
  into.who = !is_here   ? provider::elsewhere
             : is_apart ? provider::composed
                        : into.op->who.load(std::memory_order_relaxed);
  if (is_here && into.op->has_formula) {
    for (const c10::IValue& each : arguments) into.arguments.arguments.push_back(argument_of(each));
  }
}

std::unique_ptr<at::ObserverContext> begin_call(const at::RecordFunction& function) {
  thread_calls* const calls = mine();
  if (calls == nullptr) return nullptr;
  known_operator* const op = operator_of(*calls, function);
  if (op == nullptr) return nullptr;
  if (calls->open.size() == calls->depth) calls->open.emplace_back();
  call& opened = calls->open[calls->depth];
  opened.function = &function;
  opened.op = op;
  opened.dtype = c10::ScalarType::Undefined;
  opened.place = 0;
  opened.inner_ns = 0;
  opened.tensor_bytes = 0;
  opened.gathered_bytes = 0;
  opened.calls_itself = false;
  opened.notes = {};
  opened.arguments.clear();
  look_at_arguments(opened, function.inputs());
  if (opened.who != provider::elsewhere) {
    const call* const outer = calls->depth == 0 ? nullptr : &calls->open[calls->depth - 1];
    if (outer != nullptr && outer->place != 0) {
      opened.place = outer->place;
    } else if (const place_of_caller find = find_place.load(std::memory_order_acquire)) {
      opened.place = find();
    }
  }
  // The notes of an operator that has nothing to do with the device belong to the one around it.
  opened.notes_before = core::detail::notes_of_call;
  if (opened.who != provider::elsewhere) core::detail::notes_of_call = &opened.notes;
  ++calls->depth;
  opened.begun = nanoseconds_now();
  return nullptr;
}

void look_at_results(call& into, const std::vector<c10::IValue>& results) {
  const bool has_formula = into.op->has_formula && !into.arguments.arguments.empty();
  uint64_t bytes = 0;
  for (const c10::IValue& result : results) {
    for_each_tensor(result, [&](const at::Tensor& tensor) {
      if (into.dtype == c10::ScalarType::Undefined && is_on_device(tensor)) {
        into.dtype = tensor.scalar_type();
      }
      if (!into.op->is_view) bytes += bytes_of_tensor(tensor);
    });
    if (has_formula && result.isTensor()) {
      into.arguments.results.push_back(sizes_of(result.toTensor()));
    }
  }
  into.tensor_bytes += bytes + std::min(bytes, into.gathered_bytes);
}

provider who_served(const call& made) {
  if (made.who == provider::elsewhere) return made.who;
  switch (made.notes.provider) {
    case core::served_by::portable:
      return provider::portable;
    case core::served_by::own:
      return provider::own;
    case core::served_by::in_place:
      return provider::in_place;
    case core::served_by::over_copies:
      return provider::over_copies;
    case core::served_by::composed:
      return provider::composed;
    case core::served_by::unknown:
      break;
  }
  // in_place: a fast path (on_pointers/), which notes nothing. refused: nobody is known to
  // serve the operator on dense tensors, and it ran on sparse ones.
  return made.who == provider::refused || made.calls_itself ? provider::composed : made.who;
}

void end_call(const at::RecordFunction& function, at::ObserverContext* /*context*/) {
  const int64_t end = nanoseconds_now();
  thread_calls* const calls = mine();
  if (calls == nullptr || calls->depth == 0) return;
  call& made = calls->open[calls->depth - 1];
  if (made.function != &function) return;
  core::detail::notes_of_call = made.notes_before;
  --calls->depth;
  look_at_results(made, function.outputs());
  const bool is_here = made.who != provider::elsewhere;
  const int64_t total = end - made.begun;
  call_totals totals;
  totals.calls = 1;
  totals.total_ns = total;
  totals.own_ns = is_here ? total - made.inner_ns : 0;
  totals.tensor_bytes = is_here ? made.tensor_bytes : 0;
  totals.notes = made.notes;
  const uint64_t arguments = made.arguments.arguments.empty() ? 0 : made.arguments.hash();
  calls->log.add({made.op, made.dtype, who_served(made), made.place, arguments}, totals,
                 made.arguments);
  if (calls->depth != 0) {
    call& outer = calls->open[calls->depth - 1];
    outer.inner_ns += is_here ? total : made.inner_ns;
    outer.calls_itself |= is_here && outer.op == made.op;
  }
}

// Leaked: recordings may begin until the process ends.
struct recordings {
  std::mutex mutex;
  int count = 0;
  std::optional<at::CallbackHandle> callback;
};
recordings& recordings_so_far() {
  static auto& kept = *new recordings;
  return kept;
}

}  // namespace

void begin_recording(const std::vector<std::string>& with_formulas, place_of_caller place) {
  renew_knowledge(with_formulas);
  const std::lock_guard<std::mutex> lock(recordings_so_far().mutex);
  if (place != nullptr) find_place.store(place, std::memory_order_release);
  if (recordings_so_far().count++ != 0) return;
  clear_logged_calls();
  core::detail::are_calls_noted.store(true, std::memory_order_relaxed);
  recordings_so_far().callback =
      at::addGlobalCallback(at::RecordFunctionCallback(&begin_call, &end_call)
                                .needsInputs(true)
                                .needsOutputs(true)
                                .scopes({at::RecordScope::FUNCTION}));
}

void end_recording() {
  const std::lock_guard<std::mutex> lock(recordings_so_far().mutex);
  recordings& now = recordings_so_far();
  if (now.count > 0) --now.count;
  if (now.count > 0 || !now.callback) return;
  at::removeCallback(*now.callback);
  now.callback.reset();
  core::detail::are_calls_noted.store(false, std::memory_order_relaxed);
  find_place.store(nullptr, std::memory_order_release);
}

}  // namespace outback::ops
