// One run of CPU kernels on tensors of the device: what goes in, and what comes out of it.
//
//   cpu_call call;
//   at::Tensor a = call.lend(self), o = call.lend(out, access::write);
//   call.begin();                      // waits for the device, or copies from it
//   at::Tensor r = <CPU operator>(a, o);
//   call.finish();                     // carries a resized `out` over, or copies what was written
//   return call.take_back(r);
//
// Where the CPU can address the device's memory, what is lent are aliases and nothing is copied;
// elsewhere each storage is staged through CPU memory, once, whichever views of it take part. A
// call that ends in an exception changes nothing of the tensors lent, apart from bytes that a
// kernel had written in place.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/Storage.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/SmallVector.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "backend_template/ops/fallback/policy.h"
#include "backend_template/ops/fallback/stage.h"

namespace outback::ops {

enum class access : uint8_t {
  read,
  write,
  overwrite  // all of its elements, without a look at what they were
};

/// Which tensors may meet in a call.
enum class mixing {
  refused,      // all on one device; CPU scalars may join, as with CUDA
  cpu_tensors,  // CPU tensors may join
  anything      // several devices too: copies
};

class cpu_call {
 public:
  explicit cpu_call(mixing allowed = mixing::refused) : mixing_(allowed) {}
  cpu_call(const cpu_call&) = delete;
  cpu_call& operator=(const cpu_call&) = delete;
  ~cpu_call();

  /// From here on, aliases say of `requires_grad()` what their tensors say. Slower, and almost no
  /// kernel asks.
  void keep_requires_grad() { keep_requires_grad_ = true; }

  /// The CPU's view of `tensor`; a CPU tensor or an undefined one is returned as it is. The same
  /// tensor gives the same alias, and views of one storage give views of one storage.
  at::Tensor lend(at::Tensor tensor, access how = access::read, mixing allowed = mixing::refused);
  std::optional<at::Tensor> lend(const std::optional<at::Tensor>& tensor,
                                 access how = access::read) {
    return tensor ? std::optional<at::Tensor>(lend(*tensor, how)) : std::nullopt;
  }
  c10::Storage lend(const c10::Storage& storage);

  /// A Device argument: where the results go.
  void set_device(c10::Device device);

  /// Checks that the tensors may meet, then waits for or copies from the device. From here on,
  /// until the object dies, autograd and autocast are off: they have had their turn above this
  /// kernel. `op`: what runs, for the fallback mode to judge; none for what only moves data.
  void begin(std::optional<operator_text> op = std::nullopt);

  /// Where the results go. After `begin`; empty when no tensor and no argument names a device of
  /// ours.
  const std::optional<c10::Device>& device() const { return device_; }

  /// To be called once when the kernel has returned, before `take_back`.
  void finish();

  /// `result` on the device: the tensor lent, a view of it, or the CPU's memory adopted.
  at::Tensor take_back(at::Tensor result);

 private:
  struct tensor_loan {
    at::Tensor source;
    at::Tensor alias;
    access how;
  };
  struct storage_loan {
    c10::StorageImpl* source;  // the stage holds it, or else the alias
    c10::Storage alias;
    const void* data;  // the alias's at first: a kernel that resizes replaces it
    c10::Device device;
    std::unique_ptr<stage> staged;  // null where the CPU addresses it
  };

  void use_stage(const tensor_loan& loan);
  void fill_stages();
  bool makes_copies() const;
  void join(const at::Tensor& tensor, access how, mixing allowed);
  storage_loan& lend_storage(const c10::Storage& storage, access how);
  storage_loan* loan_of(const c10::StorageImpl* alias);
  static c10::Storage storage_of(const storage_loan& loan);
  void note_written(const c10::TensorImpl& alias);
  void finish_storage(storage_loan& loan);
  static void replace_memory(storage_loan& loan);
  void finish_tensor(const tensor_loan& loan);
  void take_back_storage(c10::TensorImpl& result, c10::Device device);

  c10::SmallVector<tensor_loan, 4> tensors_;
  c10::SmallVector<storage_loan, 4> storages_;
  c10::SmallVector<std::pair<c10::StorageImpl*, c10::Storage>, 1> shared_;  // results' storages
  std::optional<c10::Device> tensors_device_;
  std::optional<c10::Device> device_;
  std::optional<c10::Device> stranger_;  // a device that does not go with the tensors'
  mixing mixing_;
  bool keep_requires_grad_ = false;
  bool has_stages_ = false;
  std::optional<c10::impl::ExcludeDispatchKeyGuard> below_autograd_;
};

}  // namespace outback::ops
