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

using list_with_gaps = c10::List<std::optional<at::Tensor>>;

C10_NOINLINE lent_argument<list_with_gaps>::~lent_argument() = default;

C10_NOINLINE void lent_argument<list_with_gaps>::lend(kernel_call& call,
                                                      const list_with_gaps& argument, access how,
                                                      mixing allowed) {
  lent_.reserve(argument.size());
  for (const at::OptionalTensorRef each : at::IOptTensorListRef(argument)) {
    std::optional<at::Tensor> lent;
    if (each.has_value()) lent = call.lend(*each, how, allowed);
    lent_.push_back(std::move(lent));
  }
}

}  // namespace outback::ops
