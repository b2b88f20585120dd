#include "backend_template/core/runtime/runtime.h"

#include <atomic>
#include <new>
#include <string_view>

#include "backend_template/core/runtime/environment.h"
#include "backend_template/core/runtime/format.h"
#include "backend_template/core/runtime/launch_blocking.h"
#include "outback/answer_check.hpp"
#include "outback/layers.hpp"
#include "outback/table_check.hpp"

namespace outback::core {
namespace {

struct installed {
  outback::complete_table table;
  std::string name;
};

// Never destroyed: tensors may outlive main(), and free their memory through the table.
std::atomic<const installed*> installed_now{nullptr};
// Points to the table in `installed_now`, or to a layer over it. It is kept apart, so that a call
// of a slot loads one pointer less. It is set last: who finds it set finds the other one set too.
std::atomic<const outback_runtime*> table_now{nullptr};

const char* words_of(outback_status status) noexcept {
  switch (status) {
    case OUTBACK_OK:
      return "ok";
    case OUTBACK_NOT_READY:
      return "not ready";
    case OUTBACK_INVALID_ARGUMENT:
      return "invalid argument";
    case OUTBACK_OUT_OF_MEMORY:
      return "out of memory";
    case OUTBACK_DEVICE_LOST:
      return "device lost";
    case OUTBACK_UNSUPPORTED:
      return "unsupported";
    case OUTBACK_INTERNAL:
      return "internal error";
    default:
      return nullptr;
  }
}

// Returns "device 1, 64 bytes", or the part of it that the slot has.
std::string place_text(int64_t device, int64_t size) {
  if (device != none && size != none) return core::format("device {}, {} bytes", device, size);
  if (device != none) return core::format("device {}", device);
  return size != none ? core::format("{} bytes", size) : "";
}

}  // namespace

const outback_runtime& runtime() noexcept {
  return *table_now.load(std::memory_order_acquire);
}

bool is_installed() noexcept {
  return table_now.load(std::memory_order_acquire) != nullptr;
}

const std::string& backend_name() noexcept {
  // Never destroyed, as the name itself.
  // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): 32 bytes, once
  static const std::string& unnamed = *new std::string;
  const installed* const there = installed_now.load(std::memory_order_acquire);
  return there != nullptr ? there->name : unnamed;
}

void install_runtime(const std::string& name, const outback_runtime* table) {
  TORCH_INTERNAL_ASSERT(!is_installed(), "a runtime is installed already");
  const outback_runtime* layered =
      from_environment([table] { return layers::from_environment(table); });
  // complete_table copies the table and its groups, and sets groups to null that a runtime of an
  // older minor version does not know. So the callers ask for null and never for a size.
  const auto* const made = new installed{outback::complete_table(*layered), name};
  installed_now.store(made, std::memory_order_release);
  table_now.store(&made->table.runtime(), std::memory_order_release);
}

const outback_runtime& installed_runtime() noexcept {
  return installed_now.load(std::memory_order_acquire)->table.runtime();
}

bool cover_runtime(const outback_runtime* layer) noexcept {
  // Succeeds only once: afterwards `table_now` is not the bare table any more.
  const outback_runtime* bare = &installed_runtime();
  return table_now.compare_exchange_strong(bare, layer, std::memory_order_acq_rel);
}

namespace {

std::string failure_text(outback_status status, const char* slot, int64_t device, int64_t size) {
  const char* words = words_of(status);
  const char* reason = runtime().last_error(runtime().self);
  const bool explained = reason != nullptr && *reason != '\0';
  // The driver's words may be in any encoding, and Python cannot make an exception's text of bytes
  // that are not UTF-8.
  return core::format("{}: {}({}): {}{}{}", backend_name(), slot, place_text(device, size),
                      words == nullptr ? core::format("unknown status {}", status) : words,
                      explained ? ": " : "", explained ? as_utf8(reason) : "");
}

// Work that failed after it was enqueued is told by the call that waits for it, in whose place the
// error then stands.
const char* late_hint(outback_status status, std::string_view slot) {
  const bool waits = slot == "device_sync" || slot == "streams.sync" || slot == "streams.query" ||
                     slot == "events.sync" || slot == "events.query" || slot == "mem_copy";
  const bool is_of_work = status != OUTBACK_INVALID_ARGUMENT && status != OUTBACK_UNSUPPORTED &&
                          status != OUTBACK_OUT_OF_MEMORY;
  if (!waits || !is_of_work || is_launch_blocking()) return "";
  return ". An operator that ran earlier may be the cause: OUTBACK_LAUNCH_BLOCKING=1 makes each "
         "operator wait for its work, and names the one that fails";
}

}  // namespace

std::string blame_text(const std::string& what, const char* slot, int64_t device, int64_t size) {
  return core::format("{}: {}({}): the runtime is wrong: it {}", backend_name(), slot,
                      place_text(device, size), what);
}

void blame(const std::string& what, const char* slot, int64_t device, int64_t size) {
  if (what.empty()) return;
  throw c10::AcceleratorError({__func__, __FILE__, static_cast<uint32_t>(__LINE__)},
                              OUTBACK_INTERNAL, blame_text(what, slot, device, size));
}

void check_made(const void* handle, const char* output, const char* slot, int64_t device) {
  if (C10_LIKELY(handle != nullptr)) return;
  blame(core::format("answered ok and made *{} null", output), slot, device);
}

void fail(outback_status status, const char* slot, int64_t device, int64_t size) {
  if (status == OUTBACK_NOT_READY)
    blame("answered not_ready, which this slot may not", slot, device, size);
  // First of all: last_error has the text of this thread's latest failure only.
  const std::string text = failure_text(status, slot, device, size) + late_hint(status, slot);
  if (status == OUTBACK_OUT_OF_MEMORY) TORCH_CHECK_WITH(OutOfMemoryError, false, text);
  if (status == OUTBACK_UNSUPPORTED) TORCH_CHECK_NOT_IMPLEMENTED(false, text);
  TORCH_CHECK(status != OUTBACK_INVALID_ARGUMENT, text);
  throw c10::AcceleratorError({__func__, __FILE__, static_cast<uint32_t>(__LINE__)}, status, text);
}

std::string handled_text() noexcept try {
  try {
    throw;
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  } catch (const std::exception& error) {
    return error.what();
  }
} catch (const std::bad_alloc&) {
  return "out of memory";
} catch (...) {
  return "unknown error";
}

void warn_of(outback_status status, const char* slot, int64_t device, int64_t size) noexcept try {
  if (status != OUTBACK_OK) warn(failure_text(status, slot, device, size));
} catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
}

void refuse_absent(const char* group, const char* what) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, backend_name(), ": ", what,
                              " cannot be had: this device's runtime has no group ", group,
                              " (outback/runtime.h)");
  __builtin_unreachable();
}

}  // namespace outback::core
