// x * sigmoid(x) * scale, and its derivative, for a device in the host's memory: a shared object
// with one variable for each kernel (outback/host_kernel.h).
#include <outback/host_kernel.h>

#include <cmath>
#include <cstdint>

namespace {

// The argument number `i` of a launch.
template <class T>
T argument(const outback_host_groups& launch, int i) {
  return *static_cast<const T*>(launch.arguments[i]);
}

// Calls `body(i)` for each item of the groups that `launch` asks for, with the item's number in the
// whole launch.
template <class Body>
int32_t for_each_item(const outback_host_groups& launch, Body&& body) {
  const uint64_t size = launch.items[0];
  for (uint64_t i = launch.first * size; i < (launch.first + launch.count) * size; ++i) body(i);
  return 0;  // no fault
}

int32_t scaled_silu(const outback_host_groups* launch) {
  auto* const out = argument<float*>(*launch, 0);
  const auto* const x = argument<const float*>(*launch, 1);
  const auto scale = argument<float>(*launch, 2);
  const auto count = argument<int32_t>(*launch, 3);
  return for_each_item(*launch, [=](uint64_t i) {
    if (i < uint64_t(count)) out[i] = scale * x[i] / (1 + std::exp(-x[i]));
  });
}

int32_t scaled_silu_backward(const outback_host_groups* launch) {
  auto* const out = argument<float*>(*launch, 0);
  const auto* const grad = argument<const float*>(*launch, 1);
  const auto* const x = argument<const float*>(*launch, 2);
  const auto scale = argument<float>(*launch, 3);
  const auto count = argument<int32_t>(*launch, 4);
  return for_each_item(*launch, [=](uint64_t i) {
    if (i >= uint64_t(count)) return;
    const float s = 1 / (1 + std::exp(-x[i]));
    out[i] = grad[i] * scale * s * (1 + x[i] * (1 - s));
  });
}

constexpr uint32_t sizes[] = {sizeof(float*), sizeof(float*), sizeof(float), sizeof(int32_t)};
constexpr uint32_t backward_sizes[] = {sizeof(float*), sizeof(float*), sizeof(float*),
                                       sizeof(float), sizeof(int32_t)};

}  // namespace

extern "C" const outback_host_kernel outback_kernel_scaled_silu = {
    sizeof(outback_host_kernel), 4, sizes, 0, 0, &scaled_silu};
extern "C" const outback_host_kernel outback_kernel_scaled_silu_backward = {
    sizeof(outback_host_kernel), 5, backward_sizes, 0, 0, &scaled_silu_backward};
