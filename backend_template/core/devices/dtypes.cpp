#include "backend_template/core/devices/dtypes.h"

#include <c10/macros/Macros.h>
#include <c10/util/Exception.h>

#include <atomic>
#include <cstdint>
#include <utility>

#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/runtime/environment.h"
#include "backend_template/core/runtime/runtime.h"

namespace outback::core {
namespace {

// Bit i stands for the c10::ScalarType number i, as in c10::DeviceCapability.
std::atomic<uint64_t> unsupported{0};
// Those about which only the device can tell. Written with the declared ones, before the backend
// can be used. Until the device has told, they are in `unsupported`.
uint64_t left_to_device = 0;
std::atomic<bool> device_has_told{false};
bool has_float64 = true;  // by the variable; written with `unsupported`

uint64_t bit_of(c10::ScalarType dtype) noexcept {
  return uint64_t{1} << static_cast<unsigned>(dtype);
}

constexpr uint64_t float64_bits = uint64_t{1} << static_cast<unsigned>(c10::ScalarType::Double) |
                                  uint64_t{1}
                                      << static_cast<unsigned>(c10::ScalarType::ComplexDouble);

// Never destroyed: the device module reads it for as long as there is Python.
std::vector<c10::ScalarType>& kept_amp_dtypes() noexcept {
  // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): 24 bytes, once
  static auto& kept = *new std::vector<c10::ScalarType>;
  return kept;
}

}  // namespace

void read_float64_variable() {
  has_float64 = from_environment(
      [] { return outback::detail::flag_variable("OUTBACK_FLOAT64").value_or(true); });
}

std::vector<c10::ScalarType> all_unsupported_dtypes(std::vector<c10::ScalarType> declared) {
  if (!has_float64) {
    declared.insert(declared.end(), {c10::ScalarType::Double, c10::ScalarType::ComplexDouble});
  }
  return declared;
}

void set_unsupported_dtypes(const std::vector<c10::ScalarType>& dtypes) noexcept {
  uint64_t declared = 0;
  for (const c10::ScalarType dtype : dtypes) declared |= bit_of(dtype);
  left_to_device = float64_bits & ~declared;
  unsupported = declared | float64_bits;
}

void set_dtypes_of_device(uint32_t flags) noexcept {
  const bool has_them = (flags & OUTBACK_NO_FLOAT64) == 0;
  has_them ? unsupported &= ~left_to_device : unsupported |= left_to_device;
  // Last: a thread that sees this sees the line above too.
  device_has_told = true;
}

void set_amp_dtypes(std::vector<c10::ScalarType> dtypes) {
  kept_amp_dtypes() = std::move(dtypes);
}

const std::vector<c10::ScalarType>& amp_dtypes() noexcept {
  return kept_amp_dtypes();
}

bool supports(c10::ScalarType dtype) {
  const auto is_there = [&] {
    return (unsupported.load(std::memory_order_relaxed) & bit_of(dtype)) == 0;
  };
  if (C10_LIKELY(is_there())) return true;
  if (!device_has_told && (left_to_device & bit_of(dtype)) != 0) ensure_started();
  return is_there();
}

bool supports_all() noexcept {
  return unsupported.load(std::memory_order_relaxed) == 0;
}

void check_dtype(c10::ScalarType dtype) {
  TORCH_CHECK_TYPE(supports(dtype), "a tensor of ", backend_name(), " cannot be torch.",
                   c10::getDtypeNames(dtype).first, ": the device does not support that dtype");
}

c10::DeviceCapability capability() noexcept {
  c10::DeviceCapability result;  // every dtype
  result.capability_data.capability_bits &=
      ~(unsupported & ~(device_has_told ? 0 : left_to_device));
  return result;
}

}  // namespace outback::core
