#include "backend_template/ops/in_place/unboxed_kernel.h"

namespace outback::ops {

template <one_tensor Argument>
C10_NOINLINE lent_argument<Argument>::~lent_argument() = default;

template <one_tensor Argument>
C10_NOINLINE void lent_argument<Argument>::lend(kernel_call& call, const Argument& argument,
                                                access how, mixing allowed) {
  lent_ = call.lend(argument, how, allowed);
}

template struct lent_argument<at::Tensor>;
template struct lent_argument<std::optional<at::Tensor>>;

C10_NOINLINE lent_argument<at::ITensorListRef>::~lent_argument() = default;

C10_NOINLINE void lent_argument<at::ITensorListRef>::lend(kernel_call& call,
                                                          const at::ITensorListRef& argument,
                                                          access how, mixing allowed) {
  for (const at::Tensor& tensor : argument) lent_.push_back(call.lend(tensor, how, allowed));
}

}  // namespace outback::ops
