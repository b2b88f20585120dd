// The aliases of a capture: what cpu_call.h is to an operator that runs once, this is to one that
// runs again in each replay. host_call.cpp uses it.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Device.h>
#include <c10/core/Storage.h>
#include <c10/util/SmallVector.h>

#include <utility>
#include <vector>

#include "backend_template/core/graphs/capture.h"

namespace outback::ops {

/// What one recorded operator takes and returns. Its aliases hold no reference to the tensors:
/// memory of the capture's pool stays as long as the graph, and the graph's program keeps all other
/// memory. An alias that the kernel keeps owns the memory it lies over. Not thread-safe; `op` and
/// `open` must outlive it.
class lent_tensors {
 public:
  lent_tensors(const c10::OperatorHandle& op, core::capture& open, c10::Device device)
      : op_(op), open_(open), device_(device) {}

  /// Returns the alias of `tensor`. `written`: the operator changes it, so its old bytes are kept
  /// for the end of the capture. A CPU tensor may take part if each replay can use it: a scalar,
  /// whose value is the one of now, and a pinned tensor if `may_be_pinned`. For all others, for
  /// other devices and for tensors that are not strided it throws c10::Error and breaks the
  /// capture.
  at::Tensor lend(const at::Tensor& tensor, bool written, bool may_be_pinned);

  /// When the kernel has returned: gives the written tensors the sizes, strides, names, and conj
  /// and neg bits of their aliases, and memory of the pool where the kernel made an alias grow.
  /// Before `take_back`.
  void carry_over();

  /// Returns `result` as a tensor of the device: the tensor that was lent, a view of it, or a
  /// tensor with new memory of the pool that holds a copy of the result. Throws c10::Error and
  /// breaks the capture for a result that is not strided.
  at::Tensor take_back(at::Tensor result);

  /// To be called last, with the arguments that the replays will have: what the kernel has kept of
  /// them owns its memory, which the capture then uses for nothing else.
  void own_what_was_kept(const std::vector<c10::IValue>& arguments);

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
  const std::vector<changed_bits>& bits() const noexcept { return bits_; }
  /// True if the operator writes one of its arguments.
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
  void carry_over_bits(const tensor_loan& loan);
  void note_use(const c10::Storage& storage, const void* data);

  const c10::OperatorHandle& op_;
  core::capture& open_;
  const c10::Device device_;
  c10::SmallVector<tensor_loan, 4> tensors_;
  c10::SmallVector<storage_loan, 4> storages_;
  c10::SmallVector<at::Tensor, 1> pinned_;
  // The kernel's storages, each with the storage of the pool that replaces it.
  c10::SmallVector<std::pair<c10::StorageImpl*, c10::Storage>, 2> results_;
  std::vector<copied_result> copied_;
  std::vector<changed_bits> bits_;
  size_t taken_back_ = 0;
  bool writes_ = false;
};

}  // namespace outback::ops
