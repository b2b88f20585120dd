// Extends kernel_call for captures, in which the operator runs again in each replay, on the same
// memory. host_call.cpp uses it.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/Device.h>
#include <c10/core/Storage.h>
#include <c10/util/SmallVector.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "backend_template/core/captures/capture.h"
#include "backend_template/ops/in_place/kernel_call.h"

namespace outback::ops {

/// The arguments and results of one recorded operator. They are lent to the CPU as by any
/// kernel_call, but without a wait, and new results are copied to memory of the capture's pool. Not
/// thread-safe; `op` and `open` must outlive this object.
class recorded_loans {
 public:
  recorded_loans(const c10::OperatorHandle& op, core::capture& open, c10::Device device);

  /// Returns the alias of `tensor`. With `written`, the operator changes the tensor, so its old
  /// bytes are kept for the end of the capture. A CPU tensor is allowed if each replay can use it:
  /// a scalar, whose present value each replay uses, and a pinned tensor if `may_be_pinned`. For
  /// any other CPU tensor, for other devices and for tensors that are not strided, throws
  /// c10::Error and breaks the capture. `begin` throws for a scalar that is not `allowed`.
  at::Tensor lend(at::Tensor tensor, bool written, mixing allowed, bool may_be_pinned);

  /// Call `begin` before the kernel and `finish` after it, as in kernel_call.
  void begin() {
    call_->begin();
    call_->note_for_report();
  }
  void finish();

  /// Returns `result` as a tensor of the device: the tensor that was lent, a view of it, or a
  /// tensor with new memory of the pool that holds a copy of the result. Throws c10::Error and
  /// breaks the capture for a result that is not strided.
  at::Tensor take_back(at::Tensor result);

  /// Call it last, with the arguments for the replays. Until then each alias owns its memory, so no
  /// other tensor can get that memory. This function replaces the aliases over the pool's memory by
  /// aliases that own only the pool, so that the graph may reuse the memory when its tensor is
  /// gone. It does not change the first aliases, which the kernel may have kept.
  void leave_memory_to_graph(torch::jit::Stack& arguments);

  /// A result for which the kernel allocates new memory in each replay. The replay copies it to the
  /// memory that `take_back` gave the first result.
  struct copied_result {
    size_t place;  // the index of its `take_back`, counted from 0
    void* data;
    size_t size;  // in bytes
  };
  /// In ascending order of `place`.
  const std::vector<copied_result>& copied() const noexcept { return copied_; }
  /// An alias whose conj or neg bit the kernel changed, and its bits when it was lent. Each replay
  /// first sets the alias back to these bits, since linalg.lu_solve, for example, flips the conj
  /// bit.
  struct changed_bits {
    at::Tensor alias;
    bool conj;
    bool neg;
  };
  /// Returns all aliases with changed bits. Call it after `leave_memory_to_graph`.
  std::vector<changed_bits> bits() const;
  /// Returns true if the operator writes one of its arguments.
  bool writes() const noexcept { return writes_; }

 private:
  struct loan {
    at::Tensor source;
    at::Tensor alias;
    c10::Storage storage;  // of the source, before the kernel
    bool conj;             // the bit when it was lent
    bool neg;
  };

  at::Tensor lend_cpu(at::Tensor tensor, bool written, mixing allowed, bool may_be_pinned);
  bool has_pool_memory(const c10::Storage& storage) const;
  void keep_old_bytes(const c10::Storage& storage);
  c10::DataPtr in_pool(void* data, c10::Device device) const;

  const c10::OperatorHandle& op_;
  core::capture& open_;
  const c10::Device device_;
  std::optional<kernel_call> call_;
  c10::SmallVector<loan, 4> loans_;
  c10::SmallVector<at::Tensor, 1> on_cpu_;  // arguments that are passed unchanged
  c10::SmallVector<c10::Storage, 2> results_;
  std::vector<copied_result> copied_;
  size_t taken_back_ = 0;
  bool writes_ = false;
};

}  // namespace outback::ops
