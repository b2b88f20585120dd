#include "backend_template/ops/in_place/cpu_call.h"

#include <ATen/quantized/QTensorImpl.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/util/Exception.h>

#include <memory>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/dtypes.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/core/streams/sync_debug.h"
#include "backend_template/ops/in_place/adopt.h"
#include "backend_template/ops/in_place/alias.h"
#include "backend_template/ops/in_place/dimension_names.h"
#include "backend_template/ops/in_place/sparse_members.h"
#include "backend_template/ops/in_place/tensor_fields.h"

namespace outback::ops {
namespace {

// What must not run again for the operators that a CPU kernel calls. AutocastCPU, since the lent
// tensors are the CPU's now; autocast of this device has had its turn.
constexpr c10::DispatchKeySet keys_above_backends =
    c10::autograd_dispatch_keyset_with_ADInplaceOrView |
    c10::DispatchKeySet(c10::DispatchKey::AutocastCPU);

bool same_geometry(const c10::TensorImpl& a, const c10::TensorImpl& b) {
  return a.storage_offset() == b.storage_offset() && a.sizes() == b.sizes() &&
         a.strides() == b.strides();
}

// A copy from another quantized tensor brings its scale along.
void take_quantizer(c10::TensorImpl& from, c10::TensorImpl& to) {
  static_cast<at::QTensorImpl&>(to).set_quantizer_(static_cast<at::QTensorImpl&>(from).quantizer());
}

}  // namespace

cpu_call::~cpu_call() {
  tensors_.clear();
  for (const storage_loan& loan : storages_) {
    if (C10_LIKELY(loan.alias.unique())) continue;
    keep_memory(*loan.alias.unsafeGetStorageImpl(), *loan.source);
  }
}

void cpu_call::set_device(c10::Device device) {
  if (device.type() == core::device_type) {
    device = c10::Device(core::device_type, core::resolve_index(device.index()));
  }
  device_ = device;
}

// Notes the device of a tensor. A mismatch is reported by `begin`: only then it is known which
// device of this backend the others should have been on.
void cpu_call::join(const at::Tensor& tensor, access how, mixing allowed) {
  const c10::Device device = tensor.device();
  if (device.type() == core::device_type) {
    if (!tensors_device_) {
      tensors_device_ = device;
    } else if (*tensors_device_ != device && !stranger_) {
      stranger_ = device;
    }
    return;
  }
  const bool is_scalar = device.is_cpu() && tensor.dim() == 0 && how == access::read;
  const bool may_join =
      device.is_cpu() && (allowed == mixing::cpu_tensors || mixing_ != mixing::refused);
  if (!is_scalar && !may_join && !stranger_) stranger_ = device;
}

at::Tensor cpu_call::lend(at::Tensor tensor, access how, mixing allowed) {
  if (!tensor.defined()) return tensor;
  join(tensor, how, allowed);
  if (tensor.device().type() != core::device_type) return tensor;
  for (tensor_loan& loan : tensors_) {
    if (!loan.source.is_same(tensor)) continue;
    // The tensor is an argument and the result at once, so its old elements are needed.
    if (how != loan.how) loan.how = access::write;
    if (how != access::read && tensor.has_storage()) lend_storage(tensor.storage(), how);
    return loan.alias;
  }

  at::Tensor alias;
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  if (C10_LIKELY(is_plain(impl) && !keep_requires_grad_)) {
    alias = make_alias_tensor(tensor, lend_storage(tensor.storage(), how).alias);
  } else if (has_members(impl)) {
    // An operator that overwrites a sparse tensor, such as fill_, may leave the indices alone.
    const access of_members = how == access::overwrite ? access::write : how;
    alias = make_special_alias(tensor, {});
    for_each_member(*alias.unsafeGetTensorImpl(),
                    [&](at::Tensor& member) { member = lend(std::move(member), of_members); });
  } else {
    alias = make_special_alias(tensor, lend_storage(tensor.storage(), how).alias);
  }
  if (C10_UNLIKELY(keep_requires_grad_ && impl.requires_grad())) alias.set_requires_grad(true);
  tensors_.push_back({std::move(tensor), alias, how});
  return alias;
}

c10::Storage cpu_call::lend(const c10::Storage& storage) {
  if (!storage || storage.device_type() != core::device_type) return storage;
  if (!tensors_device_) tensors_device_ = storage.device();
  storage_loan& loan = lend_storage(storage, access::write);
  if (loan.staged) {
    loan.staged->use({0, storage.nbytes()}, true);
    loan.staged->note_written({0, storage.nbytes()});
  }
  return loan.alias;
}

cpu_call::storage_loan& cpu_call::lend_storage(const c10::Storage& storage, access how) {
  c10::StorageImpl& source = *storage.unsafeGetStorageImpl();
  // mutable_data() gives a copy-on-write storage memory of its own, so reads do not call it. If one
  // argument reads such a storage and another one writes it, both have to see the new memory: hence
  // the alias that is there already gets it below.
  void* const data = how == access::read ? const_cast<void*>(source.data()) : source.mutable_data();
  for (storage_loan& loan : storages_) {
    if (loan.source != &source) continue;
    if (!loan.staged && loan.data != data) {
      loan.alias.set_data_ptr_noswap(memory_of(source, data));
      loan.data = data;
    }
    return loan;
  }
  const c10::Device device = source.device();
  if (C10_LIKELY(core::is_host_addressable(device.index()))) {
    storages_.push_back({&source, make_alias_storage(source, data), data, device, nullptr});
  } else {
    storages_.push_back({&source, make_borrowed_storage(source, nullptr), nullptr, device,
                         std::make_unique<stage>(storage)});
    has_stages_ = true;
  }
  return storages_.back();
}

// Tells the stage which bytes the tensor covers. An operator that overwrites a tensor does not need
// its old bytes, unless it has gaps: those belong to other tensors and are written back too.
void cpu_call::use_stage(const tensor_loan& loan) {
  const c10::TensorImpl& source = *loan.source.unsafeGetTensorImpl();
  if (has_members(source) || !source.has_storage()) return;
  for (storage_loan& storage : storages_) {
    if (!storage.staged || storage.source != source.unsafe_storage().unsafeGetStorageImpl())
      continue;
    if (!is_plain(source)) return storage.staged->use({0, storage.source->nbytes()}, true);
    const bool is_all_new = loan.how == access::overwrite && source.is_non_overlapping_and_dense();
    return storage.staged->use(bytes_of(source), !is_all_new);
  }
}

void cpu_call::fill_stages() {
  for (const tensor_loan& loan : tensors_) use_stage(loan);
  for (storage_loan& loan : storages_) {
    if (!loan.staged) continue;
    c10::StorageImpl& alias = *loan.alias.unsafeGetStorageImpl();
    loan.staged->fill(alias);
    loan.data = alias.data();
  }
}

// A factory such as arange has no tensor to lend, and yet its result is copied to the device.
bool cpu_call::makes_copies() const {
  return device_ && device_->type() == core::device_type &&
         !core::is_host_addressable(device_->index());
}

void cpu_call::begin(std::optional<operator_text> op) {
  TORCH_CHECK(!stranger_ || !tensors_device_ || mixing_ == mixing::anything,
              "Expected all tensors to be on the same device, but found at least two devices, ",
              *tensors_device_, " and ", *stranger_, "!");
  if (!device_) device_ = tensors_device_;
  if (C10_UNLIKELY(has_stages_ || makes_copies())) {
    if (op) before_fallback(*op);
    if (op && has_stages_) core::note_synchronizing();
    fill_stages();
  }
  // After fill_stages: this wait is for its copies too. Storages of one device mostly come in a
  // row.
  for (size_t i = 0; i < storages_.size(); ++i) {
    const c10::Device device = storages_[i].device;
    if (i == 0 || storages_[i - 1].device != device) core::drain(device.index());
  }
  below_autograd_.emplace(keys_above_backends);
}

// In this order: a stage needs to know all written bytes before it copies them, and a tensor gets
// new sizes when its storage has the memory for them.
void cpu_call::finish() {
  for (const tensor_loan& loan : tensors_) {
    if (loan.how != access::read) note_written(*loan.alias.unsafeGetTensorImpl());
  }
  for (storage_loan& loan : storages_) finish_storage(loan);
  for (const tensor_loan& loan : tensors_) {
    if (loan.how != access::read) finish_tensor(loan);
  }
}

c10::Storage cpu_call::storage_of(const storage_loan& loan) {
  return c10::Storage(c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(loan.source));
}

cpu_call::storage_loan* cpu_call::loan_of(const c10::StorageImpl* alias) {
  for (storage_loan& loan : storages_) {
    if (loan.alias.unsafeGetStorageImpl() == alias) return &loan;
  }
  return nullptr;
}

// Takes the bytes that the alias covers now, after the kernel: it may have resized the alias within
// its storage.
void cpu_call::note_written(const c10::TensorImpl& alias) {
  if (!alias.has_storage()) return;
  storage_loan* const loan = loan_of(alias.unsafe_storage().unsafeGetStorageImpl());
  if (loan == nullptr || !loan->staged) return;
  loan->staged->note_written(is_plain(alias) ? bytes_of(alias)
                                             : byte_range{0, alias.unsafe_storage().nbytes()});
}

void cpu_call::finish_storage(storage_loan& loan) {
  c10::StorageImpl& alias = *loan.alias.unsafeGetStorageImpl();
  if (C10_UNLIKELY(alias.data() != loan.data)) {
    replace_memory(loan);
  } else if (C10_UNLIKELY(loan.staged != nullptr)) {
    loan.staged->write_back(alias);
  }
  if (C10_UNLIKELY(alias.nbytes() != loan.source->nbytes())) {
    loan.source->set_nbytes(alias.nbytes());
  }
}

// Gives the device's storage the memory that the kernel gave the alias. Where it was adopted, the
// alias lies over the storage's memory again, for the results that share it.
void cpu_call::replace_memory(storage_loan& loan) {
  c10::StorageImpl& alias = *loan.alias.unsafeGetStorageImpl();
  if (loan.staged) loan.staged->complete(alias);
  void* const data = alias.mutable_data();
  loan.source->set_data_ptr_noswap(
      adopt_memory(std::move(alias.mutable_data_ptr()), alias.nbytes(), loan.device));
  if (alias.data() == nullptr) alias.set_data_ptr_noswap(memory_of(*loan.source, data));
}

void cpu_call::finish_tensor(const tensor_loan& loan) {
  c10::TensorImpl& source = *loan.source.unsafeGetTensorImpl();
  c10::TensorImpl& alias = *loan.alias.unsafeGetTensorImpl();
  if (C10_UNLIKELY(has_members(source))) {
    for_each_member(alias, [&](at::Tensor& member) { member = take_back(std::move(member)); });
    copy_members(alias, source);
    return;
  }
  c10::StorageImpl* const storage = alias.unsafe_storage().unsafeGetStorageImpl();
  const storage_loan* const lent = loan_of(storage);
  if (C10_UNLIKELY(lent == nullptr)) {
    take_back_storage(alias, source.device());
    source.set_storage_keep_dtype(alias.unsafe_storage());
  } else if (C10_UNLIKELY(lent->source != source.unsafe_storage().unsafeGetStorageImpl())) {
    source.set_storage_keep_dtype(storage_of(*lent));
  }
  const bool is_nested = alias.key_set().has(c10::DispatchKey::NestedTensor);
  if (C10_UNLIKELY(!is_nested && !same_geometry(source, alias))) {
    source.set_sizes_and_strides(alias.sizes(), alias.strides(), alias.storage_offset());
  }
  if (C10_UNLIKELY(alias.key_set().has(c10::DispatchKey::Quantized))) take_quantizer(alias, source);
  take_names(alias, source);
  // A kernel may set these bits: linalg.lu_solve writes the conjugate and sets the conj bit.
  if (C10_UNLIKELY(loan.source.is_conj() != loan.alias.is_conj())) {
    loan.source._set_conj(loan.alias.is_conj());
  }
  if (C10_UNLIKELY(loan.source.is_neg() != loan.alias.is_neg())) {
    loan.source._set_neg(loan.alias.is_neg());
  }
}

at::Tensor cpu_call::take_back(at::Tensor result) {
  if (!result.defined()) return result;
  c10::TensorImpl* impl = result.unsafeGetTensorImpl();
  for (const tensor_loan& loan : tensors_) {
    if (loan.alias.unsafeGetTensorImpl() == impl) return loan.source;
  }
  if (!impl->device().is_cpu() || !device_ || device_->type() != core::device_type) return result;
  const c10::Device device = *device_;

  // A view of what was lent: the same view of the device's tensor.
  if (impl->has_storage() && is_plain(*impl)) {
    if (const storage_loan* lent = loan_of(impl->unsafe_storage().unsafeGetStorageImpl())) {
      for (const tensor_loan& loan : tensors_) {
        const c10::TensorImpl& source = *loan.source.unsafeGetTensorImpl();
        if (source.has_storage() &&
            source.unsafe_storage().unsafeGetStorageImpl() == lent->source) {
          return as_view_of(*impl, source);
        }
      }
    }
  }
  core::check_dtype(c10::typeMetaToScalarType(impl->dtype()));
  // Relabelled in place, which nobody else may see: if others hold the tensor, a copy of its
  // TensorImpl over the same storage is.
  if (C10_UNLIKELY(result.use_count() != 1)) {
    result = at::Tensor(impl->shallow_copy_and_detach(c10::VariableVersion(0),
                                                      /*allow_tensor_metadata_change=*/true));
    impl = result.unsafeGetTensorImpl();
  }
  if (C10_UNLIKELY(has_members(*impl))) {
    for_each_member(*impl, [&](at::Tensor& member) { member = take_back(std::move(member)); });
  } else {
    TORCH_CHECK_NOT_IMPLEMENTED(impl->has_storage(), "a tensor of layout ", result.layout(),
                                " cannot be on ", device);
    take_back_storage(*impl, device);
  }
  relabel(*impl, device);
  return result;
}

void cpu_call::take_back_storage(c10::TensorImpl& result, c10::Device device) {
  const c10::Storage& storage = result.unsafe_storage();
  if (!storage) return;
  c10::StorageImpl* const impl = storage.unsafeGetStorageImpl();
  // A view that is not plain, such as a quantized tensor's transpose, or a nested tensor over a
  // lent buffer: it shares the storage that was lent.
  if (const storage_loan* const lent = loan_of(impl)) {
    return result.set_storage_keep_dtype(storage_of(*lent));
  }
  if (C10_LIKELY(storage.use_count() == 1)) return adopt_storage(*impl, device);
  // Results that share a storage on the CPU share one on the device too.
  for (const auto& [known, theirs] : shared_) {
    if (known == impl) return result.set_storage_keep_dtype(theirs);
  }
  shared_.emplace_back(impl, share_storage(storage, device));
  result.set_storage_keep_dtype(shared_.back().second);
}

}  // namespace outback::ops
