// The unboxed form of boxed_kernel.h, for the operators that run most often: the same steps on the
// operator's own C++ types, so that no argument goes over the dispatcher's stack.
#pragma once

#include <ATen/core/IListRef.h>
#include <ATen/core/Tensor.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/macros/Macros.h>
#include <c10/util/SmallVector.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "backend_template/ops/in_place/kernel_call.h"
#include "backend_template/ops/in_place/named_operator.h"

namespace outback::ops {

/// The lent tensors of a list argument.
using lent_list = c10::SmallVector<at::Tensor, 8>;

/// Returns how `Operator` (a struct of at::_ops) treats the tensor that it writes, if there is one:
/// an out= argument and the argument of fill_ are overwritten, all others may be read as well.
template <class Operator>
constexpr access write_of() {
  const bool is_result = std::string_view(Operator::overload_name).ends_with("out");
  const bool is_fill = std::string_view(Operator::name) == "aten::fill_";
  return is_result || is_fill ? access::overwrite : access::write;
}

/// Lends `argument` if it holds tensors, and returns what the kernel gets in its place. Other
/// arguments are returned as they are. A tensor that is not const is written, with access `write`.
template <access write, class Argument>
decltype(auto) lend_argument(kernel_call& call, Argument&& argument, mixing allowed) {
  using type = std::remove_cvref_t<Argument>;
  if constexpr (std::is_same_v<type, at::Tensor>) {
    constexpr bool is_written = !std::is_const_v<std::remove_reference_t<Argument>>;
    return call.lend(argument, is_written ? write : access::read, allowed);
  } else if constexpr (std::is_same_v<type, std::optional<at::Tensor>>) {
    return call.lend(argument, access::read, allowed);
  } else if constexpr (std::is_same_v<type, at::ITensorListRef>) {
    lent_list lent;
    for (const at::Tensor& tensor : argument)
      lent.push_back(call.lend(tensor, access::read, allowed));
    return lent;
  } else {
    return std::forward<Argument>(argument);
  }
}

/// Returns what the operator takes for a result of `lend_argument`: a lent list becomes an
/// ITensorListRef again, which refers to `lent`.
template <class Argument, class Lent>
decltype(auto) as_argument(Lent& lent) {
  if constexpr (std::is_same_v<std::remove_cvref_t<Lent>, lent_list>) {
    return at::ITensorListRef(at::TensorList(lent));
  } else {
    return static_cast<std::add_lvalue_reference_t<std::remove_reference_t<Argument>>>(lent);
  }
}

/// `Operator`, a struct of at::_ops, for the calls below.
template <class Operator>
inline constinit named_operator operator_of{{Operator::name, Operator::overload_name}};

/// A kernel_call::kernel_test for `Operator`.
template <class Operator>
bool has_kernel(const kernel_target& target) {
  return target.has_kernel_of(operator_of<Operator>.known().handle);
}

/// Which tensors may stand at the arguments of an operator: of one after the other, from the first.
class mixing_of_arguments {
 public:
  explicit mixing_of_arguments(uint64_t scalars_refused) : refused_(scalars_refused) {}

  mixing next() {
    const mixing allowed = C10_LIKELY((refused_ & 1) == 0) ? mixing::refused : mixing::no_scalars;
    refused_ >>= 1;
    return allowed;
  }

 private:
  uint64_t refused_;
};

/// Takes back a tensor, or each tensor of a tuple.
template <class Result>
Result take_back_result(kernel_call& call, Result result) {
  if constexpr (std::is_same_v<Result, at::Tensor>) {
    return call.take_back(std::move(result));
  } else {
    return std::apply([&](auto&... parts) { return Result{call.take_back(std::move(parts))...}; },
                      result);
  }
}

/// Returns the argument that the operator returns by reference: the last one of type at::Tensor&.
template <class... Arguments>
at::Tensor& written_argument(Arguments&&... arguments) {
  at::Tensor* written = nullptr;
  const auto visit = [&](auto&& argument) {
    if constexpr (std::is_same_v<decltype(argument), at::Tensor&>) written = &argument;
  };
  (visit(std::forward<Arguments>(arguments)), ...);
  return *written;
}

/// A call of any operator with this C++ signature that treats what it writes as `write` says.
template <access write, class Signature>
struct unboxed_call;

template <access write, class Result, class... Arguments>
struct unboxed_call<write, Result(Arguments...)> {
  /// at::_ops::...::redispatch
  using dispatcher_call = Result (*)(c10::DispatchKeySet, Arguments...);

  static Result run(named_operator& op, dispatcher_call redispatch, Arguments... arguments) {
    const named_operator::facts& known = op.known();
    const auto has_kernel = [&known](const kernel_target& target) {
      return target.has_kernel_of(known.handle);
    };
    kernel_call call(mixing::refused, has_kernel);
    // In braces, since they evaluate from left to right: the first device is the one that a message
    // about several devices names first.
    mixing_of_arguments allowed(known.scalars_refused);
    std::tuple<decltype(lend_argument<write>(call, std::forward<Arguments>(arguments),
                                             mixing::refused))...>
        lent{lend_argument<write>(call, std::forward<Arguments>(arguments), allowed.next())...};
    call.begin(op.text);
    const auto run_there = [&](auto&... passed) -> decltype(auto) {
      return call.run(op.text, [&]() -> decltype(auto) {
        return redispatch(c10::DispatchKeySet(call.target().key()),
                          as_argument<Arguments>(passed)...);
      });
    };
    if constexpr (std::is_reference_v<Result>) {
      std::apply(run_there, lent);
      call.finish();
      // `lend_argument` moved from values alone, and `written_argument` looks at references alone.
      // NOLINTNEXTLINE(bugprone-use-after-move)
      return written_argument(std::forward<Arguments>(arguments)...);
    } else {
      Result result = std::apply(run_there, lent);
      return take_back_result(call, std::move(result));
    }
  }
};

/// `unboxed_kernel<at::_ops::add_Tensor>::run` is a kernel for aten::add.Tensor on this device. For
/// operators that return new tensors, or by reference the one tensor that they write, and whose
/// schema names everything they write. No argument may be a Device or a Generator, which are not
/// replaced here. Throws what kernel_call and the target's kernel throw.
template <class Operator, class Signature = typename Operator::schema>
struct unboxed_kernel;

template <class Operator, class Result, class... Arguments>
struct unboxed_kernel<Operator, Result(Arguments...)> {
  // Little of it is made for each operator: some 350 of them have some 130 signatures.
  static Result run(Arguments... arguments) {
    return unboxed_call<write_of<Operator>(), Result(Arguments...)>::run(
        operator_of<Operator>, &Operator::redispatch, std::forward<Arguments>(arguments)...);
  }
};

}  // namespace outback::ops
