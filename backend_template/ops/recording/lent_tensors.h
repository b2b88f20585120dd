// CPU tensors over the memory of a capture's tensors, for a kernel that runs again in each replay.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Device.h>
#include <c10/core/Storage.h>
#include <c10/util/SmallVector.h>

#include <utility>
#include <vector>

#include "backend_template/core/capture.h"

namespace outback::ops {

/// What one recorded operator takes and gives. The aliases borrow: memory of the capture's
/// pool stays as long as its graph, and the program keeps all other. Those that the kernel keeps
/// own what they lie over.
class lent_tensors {
 public:
  lent_tensors(const c10::OperatorHandle& op, core::capture& open, c10::Device device)
      : op_(op), open_(open), device_(device) {}

  /// CPU tensors come in where each replay can use them: pinned ones if `may_be_pinned`, and
  /// scalars, whose value is taken now. Throws and breaks the capture for others.
  at::Tensor lend(const at::Tensor& tensor, bool written, bool may_be_pinned);

  /// After the kernel: a written tensor that it resized is so on the device too.
  void carry_over_sizes();

  /// `result` on the device: the tensor lent, a view of it, or new memory of the pool with the
  /// result in it.
  at::Tensor take_back(at::Tensor result);

  /// To be called last, with the arguments that the replays will have: what the kernel has kept of
  /// them owns its memory, which the capture then uses for nothing else.
  void own_what_was_kept(const std::vector<c10::IValue>& arguments);

  /// A result that each replay has to copy to the memory that `take_back` gave it.
  struct copied_result {
    size_t place;  // among all tensors that were taken back
    void* data;
    size_t size;
  };
  const std::vector<copied_result>& copied() const noexcept { return copied_; }
  bool writes() const noexcept { return writes_; }

 private:
  struct tensor_loan {
    at::Tensor source;
    at::Tensor alias;
    bool written;
  };
  struct storage_loan {
    c10::Storage source;
    c10::Storage alias;
    const void* data;
  };

  at::Tensor lend_cpu(const at::Tensor& tensor, bool written, bool may_be_pinned);
  storage_loan& lend_storage(const c10::Storage& storage, bool written);
  const storage_loan* loan_of(const c10::StorageImpl* alias) const;
  void replace_memory(storage_loan& loan);
  void note_use(const c10::Storage& storage, const void* data);

  const c10::OperatorHandle& op_;
  core::capture& open_;
  const c10::Device device_;
  c10::SmallVector<tensor_loan, 4> tensors_;
  c10::SmallVector<storage_loan, 4> storages_;
  c10::SmallVector<at::Tensor, 1> pinned_;
  c10::SmallVector<std::pair<c10::StorageImpl*, c10::Storage>, 2> results_;
  std::vector<copied_result> copied_;
  size_t taken_back_ = 0;
  bool writes_ = false;
};

}  // namespace outback::ops
