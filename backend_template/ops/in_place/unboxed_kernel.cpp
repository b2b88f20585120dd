#include "backend_template/ops/in_place/unboxed_kernel.h"

namespace outback::ops {

C10_NOINLINE lent_argument<at::Tensor>::~lent_argument() = default;

C10_NOINLINE void lent_argument<at::Tensor>::lend(kernel_call& call, const at::Tensor& argument,
                                                  access how, mixing allowed) {
  lent_ = call.lend(argument, how, allowed);
}

C10_NOINLINE lent_argument<std::optional<at::Tensor>>::~lent_argument() = default;

C10_NOINLINE void lent_argument<std::optional<at::Tensor>>::lend(
    kernel_call& call, const std::optional<at::Tensor>& argument, access how, mixing allowed) {
  lent_ = call.lend(argument, how, allowed);
}

C10_NOINLINE lent_argument<at::ITensorListRef>::~lent_argument() = default;

C10_NOINLINE void lent_argument<at::ITensorListRef>::lend(kernel_call& call,
                                                          const at::ITensorListRef& argument,
                                                          access how, mixing allowed) {
  for (const at::Tensor& tensor : argument) lent_.push_back(call.lend(tensor, how, allowed));
}

}  // namespace outback::ops
