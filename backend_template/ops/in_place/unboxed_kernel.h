// The unboxed form of boxed_kernel.h, for the operators that run most often: it takes the same
// steps with the operator's own C++ types, so no argument goes through the dispatcher's stack.
#pragma once

#include <ATen/core/IListRef.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/macros/Macros.h>
#include <c10/util/SmallVector.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "backend_template/core/streams/sync_debug.h"
#include "backend_template/ops/in_place/kernel_call.h"
#include "backend_template/ops/in_place/named_operator.h"

namespace outback::ops {

template <class Argument>
concept one_tensor =
    std::is_same_v<Argument, at::Tensor> || std::is_same_v<Argument, std::optional<at::Tensor>>;

/// Holds the argument that the kernel gets. An argument without tensors stays unchanged.
///
/// The specializations that lend are compiled once, not again for each signature.
template <class Argument>
struct lent_argument {
  void lend(kernel_call& /*call*/, const Argument& /*argument*/, access /*how*/,
            mixing /*allowed*/) {}
  template <class Passed>
  Passed& get(Passed& argument) {
    return argument;  // NOLINT(bugprone-return-const-ref-from-parameter): no temporary comes here
  }
};

template <one_tensor Argument>
struct lent_argument<Argument> {
  lent_argument() = default;
  lent_argument(const lent_argument&) = delete;
  lent_argument& operator=(const lent_argument&) = delete;
  ~lent_argument();

  void lend(kernel_call& call, const Argument& argument, access how, mixing allowed);
  Argument& get(const Argument& /*argument*/) { return lent_; }

 private:
  Argument lent_;
};

extern template struct lent_argument<at::Tensor>;
extern template struct lent_argument<std::optional<at::Tensor>>;

template <>
struct lent_argument<at::ITensorListRef> {
  lent_argument() = default;
  lent_argument(const lent_argument&) = delete;
  lent_argument& operator=(const lent_argument&) = delete;
  ~lent_argument();

  void lend(kernel_call& call, const at::ITensorListRef& argument, access how, mixing allowed);
  at::ITensorListRef get(const at::ITensorListRef& /*argument*/) { return at::TensorList(lent_); }

 private:
  c10::SmallVector<at::Tensor, 8> lent_;
};

/// A list with gaps: the indices of index_put, a tensor for each dimension or none.
template <>
struct lent_argument<c10::List<std::optional<at::Tensor>>> {
  using list = c10::List<std::optional<at::Tensor>>;

  lent_argument() = default;
  lent_argument(const lent_argument&) = delete;
  lent_argument& operator=(const lent_argument&) = delete;
  ~lent_argument();

  void lend(kernel_call& call, const list& argument, access how, mixing allowed);
  const list& get(const list& /*argument*/) { return lent_; }

 private:
  list lent_;
};

/// The named_operator for `Operator`, a struct of at::_ops.
template <class Operator>
inline constinit named_operator operator_of{{Operator::name, Operator::overload_name}};

/// A kernel_call::kernel_test for `Operator`.
template <class Operator>
bool has_kernel(const kernel_target& target) {
  return target.has_kernel_of(operator_of<Operator>.known().handle);
}

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

/// A call of any operator with this C++ signature.
template <class Signature>
struct unboxed_call;

template <class Result, class... Arguments>
struct unboxed_call<Result(Arguments...)> {
  /// at::_ops::...::redispatch
  using dispatcher_call = Result (*)(c10::DispatchKeySet, Arguments...);

  static Result run(named_operator& op, dispatcher_call redispatch, Arguments... arguments) {
    return run_on(std::index_sequence_for<Arguments...>(), op, redispatch, arguments...);
  }

 private:
  template <size_t... i>
  static Result run_on(std::index_sequence<i...>, named_operator& op, dispatcher_call redispatch,
                       std::add_lvalue_reference_t<Arguments>... arguments) {
    const named_operator::facts& known = op.known();
    if (C10_UNLIKELY(known.tells_host)) core::note_synchronizing();
    const auto has_kernel = [&known](const kernel_target& target) {
      return target.has_kernel_of(known.handle);
    };
    kernel_call call(mixing::refused, has_kernel);
    std::tuple<lent_argument<std::remove_cvref_t<Arguments>>...> lent;
    // From left to right: the first device is the one that a message about several devices names
    // first.
    (std::get<i>(lent).lend(call, arguments, known.access_at(uint64_t{1} << i),
                            known.mixing_at(uint64_t{1} << i)),
     ...);
    call.begin(op.text);
    const auto run_there = [&]() -> decltype(auto) {
      return redispatch(call.target().keys, std::get<i>(lent).get(arguments)...);
    };
    if constexpr (std::is_reference_v<Result>) {
      call.run(op.text, run_there);
      call.finish();
      return written_argument(arguments...);
    } else {
      return take_back_result<Result>(call, call.run(op.text, run_there));
    }
  }
};

/// `unboxed_kernel<at::_ops::add_Tensor>::run` is a kernel for aten::add.Tensor on this device. For
/// operators that return new tensors, or a reference to the single tensor they write. No argument
/// may be a Device or a Generator, since this kernel does not replace them. Throws what kernel_call
/// and the target's kernel throw.
template <class Operator, class Signature = typename Operator::schema>
struct unboxed_kernel;

template <class Operator, class Result, class... Arguments>
struct unboxed_kernel<Operator, Result(Arguments...)> {
  // Little of this code is instantiated per operator: some 350 operators share some 130 signatures.
  static Result run(Arguments... arguments) {
    return unboxed_call<Result(Arguments...)>::run(operator_of<Operator>, &Operator::redispatch,
                                                   std::forward<Arguments>(arguments)...);
  }
};

}  // namespace outback::ops
