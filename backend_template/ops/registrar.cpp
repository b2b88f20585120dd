#include "backend_template/ops/registrar.h"

#include <link.h>

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "backend_template/ops/next_provider.h"

namespace outback::ops {
namespace {

// Returns how many libraries this process has loaded so far, those that are gone included.
uint64_t libraries_so_far() {
  uint64_t loaded = 0;
  // The number is in what is said of each library. It ends after the first one.
  const auto take = [](dl_phdr_info* library, size_t /*size*/, void* number) {
    *static_cast<uint64_t*>(number) = library->dlpi_adds;
    return 1;
  };
  dl_iterate_phdr(take, &loaded);
  return loaded;
}

// torch has another way to ask, getComputedKernelForDispatchKey. But each call of it adds a token
// to a list of the kernel's, under no lock, and none ever goes (KernelFunction::registerToken).
// This one takes 15 us, so the answers are kept.
bool ask_dispatcher(const c10::OperatorHandle& op) {
  static const std::string ours = std::string("\nPrivateUse1: ") + registrar::registered_by;
  return op.dumpComputedTable().find(ours) != std::string::npos;
}

core::served_by provider_of_text(std::string_view text) {
  if (text == registrar::registered_as_portable) return core::served_by::portable;
  return text == registrar::registered_as_own ? core::served_by::own : core::served_by::in_place;
}

// Is told of each operator.
class collector final : public c10::OpRegistrationListener {
 public:
  explicit collector(std::vector<c10::OperatorHandle>& into) : into_(into) {}

  void onOperatorRegistered(const c10::OperatorHandle& op) override { into_.push_back(op); }
  void onOperatorDeregistered(const c10::OperatorHandle& /*op*/) override {}

 private:
  std::vector<c10::OperatorHandle>& into_;
};

}  // namespace

// A listener is told at once of those that are there. The other way is a copy of all names and a
// search for each.
std::vector<c10::OperatorHandle> registrar::all_operators() {
  std::vector<c10::OperatorHandle> all;
  c10::Dispatcher::singleton().addRegistrationListener(std::make_unique<collector>(all));
  return all;
}

void registrar::add_kernel(const char* name, const char* overload, c10::DispatchKey key,
                           c10::KernelFunction kernel, c10::impl::CppSignature signature) {
  const std::optional<c10::OperatorHandle> op = find(name, overload);
  if (!op) return;
  keep(*op, key, std::move(kernel), signature);
}

void registrar::keep(const c10::OperatorHandle& op, c10::DispatchKey key,
                     c10::KernelFunction kernel, std::optional<c10::impl::CppSignature> signature) {
  // An autocast kernel computes nothing itself, so an excluded operator may have one.
  const bool is_kernel = key != c10::DispatchKey::AutocastPrivateUse1;
  if (is_kernel && !excluded_.empty() && excluded_.count(op.operator_name()) != 0) return;
  if (left_out_ != nullptr && left_out_->count(op.operator_name()) != 0) return;
  // Also where an earlier provider stays, which may decline a call.
  if (key == c10::DispatchKey::PrivateUse1) keep_kernel(op, kernel, provider_of_text(text_));
  if (op.hasKernelForDispatchKey(key)) return;
  handles_.push_back(c10::Dispatcher::singleton().registerImpl(
      op.operator_name(), key, std::move(kernel), signature, nullptr, text_));
}

void registrar::add_fallback(c10::DispatchKey key, c10::KernelFunction kernel) {
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  if (dispatcher.hasBackendFallbackForDispatchKey(key)) return;
  handles_.push_back(dispatcher.registerFallback(key, std::move(kernel), registered_by));
}

bool registrar::serves(const c10::OperatorHandle& op) {
  // Leaked: operators run until the process ends.
  static auto& mutex = *new std::mutex;
  static auto& answers = *new std::unordered_map<c10::OperatorName, bool>;
  static uint64_t libraries = 0;  // of which the answers know
  const uint64_t now = libraries_so_far();
  const std::lock_guard<std::mutex> lock(mutex);
  if (libraries != now) answers.clear();
  libraries = now;
  const auto known = answers.find(op.operator_name());
  if (known != answers.end()) return known->second;
  return answers.emplace(op.operator_name(), ask_dispatcher(op)).first->second;
}

}  // namespace outback::ops
