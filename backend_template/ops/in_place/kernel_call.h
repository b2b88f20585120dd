// One run of another device type's kernel on this device's tensors: lends the arguments and takes
// the results back. Every operator that the CPU or a twin serves goes through a kernel_call, except
// for the fast paths of on_pointers/. The operators of a capture (recording/) do too. The first
// device of this backend among the arguments decides which device type's kernel runs (target_of).
//
//   kernel_call call;
//   at::Tensor a = call.lend(self), o = call.lend(out, access::write);
//   call.begin();                      // waits for the device, or copies from it
//   at::Tensor r = call.run(op, [&] { return <operator of the target>(a, o); });
//   call.finish();                     // copies back what was written, and takes over resizes
//   return call.take_back(r);
//
// If the target can address the device's memory, the call lends aliases without any copy: the
// kernel runs in place. Each alias owns its memory, so a kernel may keep the alias, and results may
// share the memory. Otherwise the kernel runs over copies: each storage gets one stage (copies/),
// which has the bytes that the lent views span. If the kernel throws, the lent tensors keep their
// sizes, strides and storages; only bytes that the kernel wrote in place are changed.
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
  overwrite  // writes every element before reading: a stage need not fetch them
};

/// Which tensors one call may combine.
enum class mixing : uint8_t {
  refused,      // all on one device; CPU scalars may join
  no_scalars,   // CPU scalars may not join either
  cpu_tensors,  // CPU tensors may join
  anything      // tensors of several devices may join: for copies
};

/// Lives on the stack for one call of one operator; not thread-safe. Until `finish`, no other code
/// may use the lent tensors.
class kernel_call {
 public:
  /// Returns true if the given target, a twin, has a kernel for the operator.
  using kernel_test = c10::function_ref<bool(const kernel_target&)>;

  /// If `has_kernel` is given and returns false, the CPU serves the operator over copies on a
  /// device with a twin. `has_kernel` must outlive this object.
  explicit kernel_call(mixing allowed = mixing::refused, kernel_test has_kernel = {})
      : has_kernel_(has_kernel), mixing_(allowed) {}
  /// Uses `target` in place of cpu_target for devices without a twin.
  explicit kernel_call(const kernel_target& target) : target_(&target) {}
  kernel_call(const kernel_call&) = delete;
  kernel_call& operator=(const kernel_call&) = delete;
  ~kernel_call();

  /// Returns the target whose kernel will run. Call it after `lend` has seen a device of this
  /// backend.
  const kernel_target& target() const noexcept { return *target_; }

  /// Makes later aliases require a gradient if their tensors do. Such aliases cost more, and only
  /// one CPU kernel asks for requires_grad (op_facts::asks_requires_grad).
  void keep_requires_grad() { keep_requires_grad_ = true; }

  /// Returns the target's view of `tensor`: an alias, or a tensor over a stage that `begin` fills.
  /// Returns a tensor of another device type, or an undefined tensor, unchanged. The same tensor
  /// gives the same alias, and views of one storage give views of one storage. Call it only before
  /// `begin`.
  at::Tensor lend(at::Tensor tensor, access how = access::read, mixing allowed = mixing::refused);
  std::optional<at::Tensor> lend(const std::optional<at::Tensor>& tensor, access how = access::read,
                                 mixing allowed = mixing::refused) {
    return tensor ? std::optional<at::Tensor>(lend(*tensor, how, allowed)) : std::nullopt;
  }
  /// Does the same for a storage. The kernel may read and write all of its bytes.
  c10::Storage lend(const c10::Storage& storage);
  /// Does the same for a Device argument, which names the device for the results. Without such an
  /// argument they go to the device of the tensors. Throws c10::AcceleratorError for an index out
  /// of range.
  c10::Device lend(c10::Device device);

  /// Checks that the call may combine its tensors, copies their bytes to the host if the kernel
  /// runs over copies, and waits until kernels may use the memory. From here until this object
  /// dies, autograd and autocast are off in the calling thread, since they ran before this kernel.
  ///
  /// `op` is the operator to which the fallback mode applies. Calls that only move data pass
  /// std::nullopt. Throws c10::Error if the tensors are on several devices, or if an out= is on the
  /// device but all other tensors are CPU scalars, several of them. Throws what the target's wait
  /// throws, and c10::NotImplementedError if the call would need copies and the fallback mode is
  /// "error".
  void begin(std::optional<operator_text> op = std::nullopt);

  /// Notes for the operator report that the call runs a kernel of the target. `begin` does so if it
  /// gets an `op`.
  void note_for_report() const {
    if (C10_LIKELY(!core::are_calls_noted())) return;
    core::note_provider(has_stages_ || makes_copies() ? core::served_by::over_copies
                                                      : core::served_by::in_place);
  }

  /// Runs `kernel`, a call of the target's kernel for `op`, and returns its result. Call it after
  /// `begin`. If the device's driver reports an error, adds the operator and the device to its
  /// text, since a driver may report failed work in any later call.
  template <class Kernel>
  decltype(auto) run(const operator_text& op, Kernel&& kernel) const {
    try {
      return std::forward<Kernel>(kernel)();
    } catch (c10::AcceleratorError& error) {
      add_place(error, op);
      throw;
    }
  }

  /// Returns the generator that the kernel gets in place of `given`, which may be undefined. Call
  /// it after `begin`. Throws c10::Error for a generator of another device.
  at::Generator lend(const at::Generator& given) const;

  /// Writes back the bytes that the kernel wrote, and gives the lent tensors the storages, sizes
  /// and strides that the kernel gave their aliases. Call it once, after the kernel and before
  /// `take_back`. An operator that writes no argument may omit it.
  void finish();

  /// Returns `result`, a tensor that the kernel returned, as a tensor of the device: the tensor
  /// that was lent, a view of it, or a new one over the target's memory (adopted or copied).
  /// Throws c10::TypeError for a dtype that the device does not support.
  at::Tensor take_back(at::Tensor result);

 private:
  static constexpr size_t no_storage = std::numeric_limits<size_t>::max();

  struct tensor_loan {
    at::Tensor source;  // the device's tensor
    at::Tensor alias;   // the kernel's argument
    access how;
    size_t storage;  // index into storages_ of the alias's storage; no_storage if it has members
  };
  struct storage_loan {
    c10::Storage source;
    c10::Storage alias;
    const void* data;               // the alias's memory at `begin`: a kernel may replace it
    std::unique_ptr<stage> staged;  // null if the target can address the memory
  };

  void join(const at::Tensor& tensor, access how, mixing allowed);
  bool reads_device();
  void join(c10::Device device);
  void choose_target(c10::DeviceIndex index);
  size_t lend_storage(const c10::Storage& storage, access how);  // returns the index into storages_
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
  // The target's storages that several results share, each with the device's storage over it.
  c10::SmallVector<std::pair<c10::StorageImpl*, c10::Storage>, 1> shared_;
  std::optional<c10::Device> tensors_device_;  // the first one of this backend
  std::optional<c10::Device> device_;          // the device for the results
  std::optional<c10::Device> stranger_;        // a device that may not join tensors_device_
  uint32_t cpu_scalars_ = 0;                   // number of CPU scalars in the call
  mixing mixing_ = mixing::refused;
  std::optional<counted_fallback> counts_;  // set if the operator runs over copies
  bool keep_requires_grad_ = false;
  bool has_stages_ = false;
  std::optional<c10::impl::ExcludeDispatchKeyGuard> below_autograd_;
};

}  // namespace outback::ops
