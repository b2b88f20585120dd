// One run of another device type's kernel on the device's tensors: what goes in, and what comes out
// of it. Every operator that the CPU or a twin serves goes through a kernel_call, except for the
// fast paths of on_pointers/. So do the operators of a capture (recording/). Whose kernel it is,
// the call finds out by the first device of ours that it sees (target_of).
//
//   kernel_call call;
//   at::Tensor a = call.lend(self), o = call.lend(out, access::write);
//   call.begin();                      // waits for the device, or copies from it
//   at::Tensor r = call.run(op, [&] { return <operator of the target>(a, o); });
//   call.finish();                     // copies back what was written, and takes over resizes
//   return call.take_back(r);
//
// Where the target reaches the device's memory, what it lends are aliases, and nothing is copied:
// the kernel runs in place. Each alias owns the memory that it lies over, so a kernel may keep it,
// and results may lie over it. For memory apart the kernel runs over copies: each storage gets one
// stage (copies/), which has what the views that take part span. If the kernel throws, the tensors
// that were lent keep their sizes, strides and storages; only bytes that the kernel wrote in place
// are changed.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/Storage.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/Exception.h>
#include <c10/util/FunctionRef.h>
#include <c10/util/SmallVector.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "backend_template/core/operators/call_notes.h"
#include "backend_template/ops/copies/fallback_counts.h"
#include "backend_template/ops/copies/policy.h"
#include "backend_template/ops/copies/stage.h"
#include "backend_template/ops/in_place/loan_list.h"
#include "backend_template/ops/in_place/twin_target.h"

namespace outback::ops {

/// What the kernel does to a tensor.
enum class access : uint8_t {
  read,
  write,
  overwrite  // writes every element and reads none: a stage need not fetch them
};

/// Which tensors may meet in one call.
enum class mixing : uint8_t {
  refused,      // all on one device; CPU scalars may join
  no_scalars,   // not even these
  cpu_tensors,  // CPU tensors may join
  anything      // tensors of several devices too: for copies
};

/// Lives on the stack for one call of one operator; not thread-safe. The tensors that it lends must
/// not be used by others until `finish`.
class kernel_call {
 public:
  /// True if an operator has a kernel of the target, which is a twin.
  using kernel_test = c10::function_ref<bool(const kernel_target&)>;

  /// If `has_kernel`, which must outlive the call, is given and says no, the CPU serves the
  /// operator over copies on a device with a twin.
  explicit kernel_call(mixing allowed = mixing::refused, kernel_test has_kernel = {})
      : has_kernel_(has_kernel), mixing_(allowed) {}
  /// With another target for devices without a twin than cpu_target.
  explicit kernel_call(const kernel_target& target) : target_(&target) {}
  kernel_call(const kernel_call&) = delete;
  kernel_call& operator=(const kernel_call&) = delete;
  ~kernel_call();

  /// Whose kernel is to run. After the first `lend` of something that is on a device.
  const kernel_target& target() const noexcept { return *target_; }

  /// Lets the aliases that are made from here on require a gradient if their tensors do. It makes
  /// them slower, and only one CPU kernel asks (op_facts::asks_requires_grad).
  void keep_requires_grad() { keep_requires_grad_ = true; }

  /// Returns the target's view of `tensor`: an alias, or a tensor over a stage that `begin` fills.
  /// A tensor of another device type and an undefined one are returned as they are. The same tensor
  /// gives the same alias, and views of one storage give views of one storage. Only before `begin`.
  at::Tensor lend(at::Tensor tensor, access how = access::read, mixing allowed = mixing::refused);
  std::optional<at::Tensor> lend(const std::optional<at::Tensor>& tensor, access how = access::read,
                                 mixing allowed = mixing::refused) {
    return tensor ? std::optional<at::Tensor>(lend(*tensor, how, allowed)) : std::nullopt;
  }
  /// The same for a storage, all of which the kernel may read and write.
  c10::Storage lend(const c10::Storage& storage);
  /// The same for a Device argument, which says where the results go. Without one they go to the
  /// device of the tensors. Throws c10::AcceleratorError for an index out of range.
  c10::Device lend(c10::Device device);

  /// Checks that the tensors may meet, then waits until kernels may use their devices' memory; over
  /// copies it copies their bytes to the host first. From here until this object dies, autograd and
  /// autocast are off in the calling thread: they come before this kernel.
  ///
  /// `op` says what runs, for the fallback mode to judge. Calls that only move data pass none.
  /// Throws c10::Error if the tensors are on several devices, or if several CPU scalars are all
  /// that the operator reads and an out= is of the device; what the target's wait throws; and
  /// c10::NotImplementedError if the call would need copies and the fallback mode is "error".
  void begin(std::optional<operator_text> op = std::nullopt);

  /// Notes that the call runs a kernel of the target's, for the operator report. `begin` does so if
  /// it is told what runs.
  void note_for_report() const {
    if (C10_LIKELY(!core::are_calls_noted())) return;
    core::note_kernel(has_stages_ || makes_copies() ? core::lent_kernel::over_copies
                                                    : core::lent_kernel::in_place);
  }

  /// Runs `kernel`, a call of the target's kernel for `op`, and returns what it returns. After
  /// `begin`. The error of a device's driver gets the operator and the device into its text, since
  /// work that went wrong is told by any later call.
  template <class Kernel>
  decltype(auto) run(const operator_text& op, Kernel&& kernel) const {
    try {
      return std::forward<Kernel>(kernel)();
    } catch (c10::AcceleratorError& error) {
      add_place(error, op);
      throw;
    }
  }

  /// Returns what the kernel gets in place of `given`, a generator or undefined. After `begin`.
  /// Throws c10::Error for a generator of another device.
  at::Generator lend(const at::Generator& given) const;

  /// Writes back what the kernel wrote. Gives the lent tensors the storages, sizes and strides that
  /// the kernel gave their aliases. Once, when the kernel has returned and before `take_back`; an
  /// operator that writes no argument may leave it out.
  void finish();

  /// Returns `result`, a tensor that the kernel returned, as a tensor of the device: the tensor
  /// that was lent, a view of it, or a new one over the target's memory (adopted or copied).
  /// Throws c10::TypeError for a dtype that the device does not support.
  at::Tensor take_back(at::Tensor result);

 private:
  static constexpr size_t no_storage = std::numeric_limits<size_t>::max();

  struct tensor_loan {
    at::Tensor source;  // the device's tensor
    at::Tensor alias;   // what the kernel gets
    access how;
    size_t storage;  // which of storages_ the alias was made over; no_storage if it has members
  };
  struct storage_loan {
    c10::Storage source;
    c10::Storage alias;
    const void* data;               // the alias's memory at `begin`: a kernel may replace it
    std::unique_ptr<stage> staged;  // null if the target reaches the memory
  };

  void join(const at::Tensor& tensor, access how, mixing allowed);
  bool reads_device();
  void join(c10::Device device);
  void choose_target(c10::DeviceIndex index);
  size_t lend_storage(const c10::Storage& storage, access how);  // its place among storages_
  storage_loan* loan_of(const c10::TensorImpl& alias);
  storage_loan* loan_of(const tensor_loan& loan);
  static int64_t shift_of(const c10::TensorImpl& alias, const storage_loan* lent);
  bool makes_copies() const;
  void add_place(c10::AcceleratorError& error, const operator_text& op) const;
  void fill_stages();
  void wait_for_streams();
  void finish_storage(storage_loan& loan);
  void replace_memory(storage_loan& loan);
  void finish_tensor(const tensor_loan& loan);
  void take_back_storage(c10::TensorImpl& result, const storage_loan* lent, c10::Device device);

  const kernel_target* target_ = &cpu_target;
  kernel_test has_kernel_;
  loan_list<tensor_loan> tensors_;
  loan_list<storage_loan> storages_;
  // The target's storages that several results share, each with the device's storage made of it.
  c10::SmallVector<std::pair<c10::StorageImpl*, c10::Storage>, 1> shared_;
  std::optional<c10::Device> tensors_device_;  // of the first tensor on this backend
  std::optional<c10::Device> device_;          // where the results go
  std::optional<c10::Device> stranger_;        // a device that may not meet the tensors'
  uint32_t cpu_scalars_ = 0;                   // how many have joined
  mixing mixing_ = mixing::refused;
  std::optional<counted_fallback> counts_;  // if the operator runs over copies
  bool keep_requires_grad_ = false;
  bool has_stages_ = false;
  std::optional<c10::impl::ExcludeDispatchKeyGuard> below_autograd_;
};

}  // namespace outback::ops
