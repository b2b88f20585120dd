// What a driver would do in a real backend: runs a loop, here on the calling thread, as the memory
// of this device is the host's. And a count of what ran, for the demonstration.
#pragma once

#include <ATen/OpMathType.h>
#include <outback/kernels/elementwise.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace acme {

/// Counts a run of the native kernel `name`, for torch.ops.acme.calls(name).
void count_call(const char* name);

/// Computes `function(input)` for each element, where input(i) is what the i-th input has there.
/// Elements are scalar_t; reduced precision is computed in float, as PyTorch does.
template <class scalar_t, class Function>
void run_on_host(const outback::kernels::elementwise_loop& loop, Function function) {
  using value_t = at::opmath_type<scalar_t>;
  loop.stream.wait();  // a kernel that is launched on loop.stream.handle() does not wait
  std::vector<int64_t> index(loop.shape.size());
  const auto element = [&](const outback::kernels::loop_operand& operand) {
    char* address = static_cast<char*>(operand.data);
    for (size_t d = 0; d < index.size(); ++d) address += index[d] * operand.strides[d];
    return reinterpret_cast<scalar_t*>(address);
  };
  const auto input = [&](size_t i) {
    const outback::kernels::loop_operand& operand = loop.operands[i + 1];
    return operand.data == nullptr ? operand.number.to<value_t>()
                                   : static_cast<value_t>(*element(operand));
  };
  for (int64_t n = 0; n < loop.numel; ++n) {
    *element(loop.operands[0]) = static_cast<scalar_t>(function(input));
    for (size_t d = 0; d < index.size() && ++index[d] == loop.shape[d]; ++d) index[d] = 0;
  }
}

}  // namespace acme
