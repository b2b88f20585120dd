// outback::register_backend: all checks first, then all registrations, as calls in a fixed order.
// So a call that throws has changed nothing; several of torch's registrations cannot be undone, and
// some would end the process if they were repeated.
#include <ATen/autocast_mode.h>
#include <ATen/core/CachingHostAllocator.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/Allocator.h>
#include <c10/core/DeviceType.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/dtypes.h"
#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/interfaces/guard.h"
#include "backend_template/core/interfaces/hooks.h"
#include "backend_template/core/interfaces/registries.h"
#include "backend_template/core/kernels/portable_choice.h"
#include "backend_template/core/memory/allocator/leak_report.h"
#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/core/memory/host_allocator.h"
#include "backend_template/core/races/race_finder.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/streams/launches.h"
#include "backend_template/ops/copies/policy.h"
#include "backend_template/ops/registrations.h"
#include "backend_template/ops/report/variables.h"
#include "outback/backend.h"
#include "outback/table_check.hpp"
#include "registration/backend_meta.h"
#include "registration/checks.h"
#include "registration/name.h"

namespace outback {
namespace {

// What a second call is compared with. Leaked: such a call may come until the process ends.
struct identity {
  std::string name;
  const outback_runtime* runtime;
};
std::atomic<const identity*> begun_as{nullptr};  // null before the registration
std::atomic<bool> is_complete{false};

void check_nothing_registered(const std::string& name) {
  const std::string other = c10::get_privateuse1_backend();
  TORCH_CHECK(!c10::is_privateuse1_backend_registered() || other == name, "cannot register ", name,
              ": this process's PrivateUse1 backend is ", other,
              " already, and PyTorch has room for one");
  TORCH_CHECK(
      !c10::impl::hasDeviceGuardImpl(core::device_type) && !at::isPrivateUse1HooksRegistered(),
      "cannot register ", name,
      ": another library has registered a device guard or hooks for PrivateUse1 in this process");
}

void check_options(const backend_options& options) {
  const std::string problem = registration::name_problem(options.name);
  TORCH_CHECK_VALUE(problem.empty(), problem);
  const std::string table = table_problem(options.runtime);
  TORCH_CHECK_VALUE(table.empty(), "cannot register ", options.name, ": ", table);
  core::read_float64_variable();
  const auto unsupported = core::all_unsupported_dtypes(options.unsupported_dtypes);
  for (const c10::ScalarType dtype : options.amp_dtypes) {
    TORCH_CHECK_VALUE(c10::isFloatingType(dtype), "cannot register ", options.name,
                      ": amp_dtypes has ", dtype, ", autocast casts to floating-point types only");
    TORCH_CHECK_VALUE(std::find(unsupported.begin(), unsupported.end(), dtype) == unsupported.end(),
                      "cannot register ", options.name, ": ", dtype,
                      " is in amp_dtypes and in unsupported_dtypes");
  }
  core::read_leak_report();
  core::read_launch_blocking();
  core::read_portable_variable();
  core::read_twin_variable();
  core::read_race_variable();
  ops::read_report_variables();
  // Only for what they throw: the registration calls them again for their results.
  ops::operator_names_of(options.excluded_operators);
  ops::portable_excluded();
  ops::initial_fallback_mode(options.fallback);
}

bool has_begun_as(const backend_options& options) {
  const identity* const there = begun_as.load(std::memory_order_acquire);
  if (there == nullptr) return false;
  TORCH_CHECK(options.name == there->name, "cannot register ", options.name,
              ": this process's backend is ", there->name,
              " already, and PyTorch has room for one");
  TORCH_CHECK(options.runtime == there->runtime, "cannot register ", options.name,
              ": it is registered already, with another runtime");
  return true;
}

}  // namespace

namespace registration {

void check_registrable(const backend_options& options) {
  if (has_begun_as(options)) return;
  check_options(options);
  check_nothing_registered(options.name);
  check_backend_meta(options);
}

}  // namespace registration

namespace {

void register_all(const backend_options& options) {
  ops::register_operators(ops::operator_names_of(options.excluded_operators));
  core::watch_forks();
  core::set_unsupported_dtypes(core::all_unsupported_dtypes(options.unsupported_dtypes));
  core::set_amp_dtypes(options.amp_dtypes);
  c10::impl::registerDeviceGuard(core::device_type, &core::device_guard_impl());
  c10::SetAllocator(core::device_type, &core::device_allocator());
  at::setHostAllocator(core::device_type, &core::host_allocator());
  set_fallback_mode(ops::initial_fallback_mode(options.fallback));
  at::RegisterPrivateUse1HooksInterface(&core::accelerator_hooks());
  // After the operators: from here on others can name a device.
  c10::register_privateuse1_backend(options.name);
  // torch has one default dtype of autocast for each thread; this sets the one of the calling
  // thread.
  if (!options.amp_dtypes.empty()) {
    at::autocast::set_autocast_dtype(core::device_type, options.amp_dtypes.front());
  }
  registration::register_backend_meta(options);
  core::register_profiler();
  core::register_timeline();
  core::register_ddp_timer();
  core::register_accelerator_graph();
}

}  // namespace

void register_backend(const backend_options& options) {
  // If several threads register at once, one does and the others find it done. Nothing inside calls
  // a slot or Python, so the lock cannot meet the GIL or a driver's lock.
  static std::mutex one_at_a_time;
  static std::exception_ptr failure;  // of a registration that cannot be tried again
  const std::lock_guard lock(one_at_a_time);
  registration::check_registrable(options);
  if (begun_as.load(std::memory_order_acquire) == nullptr) {
    // The runtime first: all that follows may ask for the name or the table. This may still throw
    // for a malformed variable of a layer, and has changed nothing then.
    core::install_runtime(options.name, options.runtime);
    begun_as.store(new identity{options.name, options.runtime}, std::memory_order_release);
    try {
      register_all(options);
      is_complete.store(true, std::memory_order_release);
    } catch (...) {
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

const std::string& backend_name() noexcept {
  return core::backend_name();
}

bool is_registered() noexcept {
  return is_complete.load(std::memory_order_acquire);
}

}  // namespace outback
