// What a capture adds to a kernel_call: the operator runs again in each replay, on the same memory.
// host_call.cpp uses it.
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

/// What one recorded operator takes and returns. It is lent as by any kernel_call, to the CPU, but
/// nothing is waited for, and new results are copied to memory of the capture's pool. Not
/// thread-safe; `op` and `open` must outlive it.
class recorded_loans {
 public:
  recorded_loans(const c10::OperatorHandle& op, core::capture& open, c10::Device device);

  /// Returns the alias of `tensor`. `written`: the operator changes it, so its old bytes are kept
  /// for the end of the capture. A CPU tensor may take part if each replay can use it: a scalar,
  /// whose value is the one of now, and a pinned tensor if `may_be_pinned`. For all others, for
  /// other devices and for tensors that are not strided it throws c10::Error and breaks the
  /// capture. `begin` throws for a scalar that is not `allowed`.
  at::Tensor lend(at::Tensor tensor, bool written, mixing allowed, bool may_be_pinned);

  /// Before the kernel, and when it has returned, as in kernel_call.
  void begin() {
    call_->begin();
    call_->note_for_report();
  }
  void finish();

  /// Returns `result` as a tensor of the device: the tensor that was lent, a view of it, or a
  /// tensor with new memory of the pool that holds a copy of the result. Throws c10::Error and
  /// breaks the capture for a result that is not strided.
  at::Tensor take_back(at::Tensor result);

  /// To be called last, with the arguments that the replays will have. Until then each alias owns
  /// its memory, which nothing else may use then. Here the pool's memory gets other aliases, which
  /// own the pool instead: the graph may use the memory again when its tensor is gone. What the
  /// kernel kept of the first ones stays as it is.
  void leave_memory_to_graph(torch::jit::Stack& arguments);

  /// A result that the kernel makes anew in each replay: the replay copies it to the memory that
  /// `take_back` gave the first one.
  struct copied_result {
    size_t place;  // its index among all tensors that were taken back
    void* data;
    size_t size;  // in bytes
  };
  /// In ascending order of `place`.
  const std::vector<copied_result>& copied() const noexcept { return copied_; }
  /// An alias whose conj or neg bit the kernel changed, and the bits that it was lent with. Each
  /// replay sets these first: linalg.lu_solve flips the conj bit that it finds.
  struct changed_bits {
    at::Tensor alias;
    bool conj;
    bool neg;
  };
  /// After `leave_memory_to_graph`.
  std::vector<changed_bits> bits() const;
  /// True if the operator writes one of its arguments.
  bool writes() const noexcept { return writes_; }

 private:
  struct loan {
    at::Tensor source;
    at::Tensor alias;
    c10::Storage storage;  // the source's, before the kernel
    bool conj;             // as it was lent
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
  c10::SmallVector<at::Tensor, 1> on_cpu_;  // arguments that stay as they are
  c10::SmallVector<c10::Storage, 2> results_;
  std::vector<copied_result> copied_;
  size_t taken_back_ = 0;
  bool writes_ = false;
};

}  // namespace outback::ops
