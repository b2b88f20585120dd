#include "backend_template/ops/in_place/kernel_call.h"

#include <ATen/quantized/QTensorImpl.h>
#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

#include <string>

#include <algorithm>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/dtypes.h"
#include "backend_template/core/streams/sync_debug.h"
#include "backend_template/core/timeline/timeline.h"
#include "backend_template/ops/in_place/adopt.h"
#include "backend_template/ops/in_place/alias.h"
#include "backend_template/ops/in_place/spare_aliases.h"
#include "backend_template/ops/in_place/sparse_members.h"
#include "backend_template/ops/tensors/dimension_names.h"
#include "backend_template/ops/tensors/tensor_fields.h"

namespace outback::ops {
namespace {

bool is_same(const c10::Storage& a, const c10::Storage& b) {
  return a.unsafeGetStorageImpl() == b.unsafeGetStorageImpl();
}

// `alias` begins `shift` elements into the storage of `source`.
bool same_geometry(const c10::TensorImpl& source, const c10::TensorImpl& alias, int64_t shift) {
  return source.storage_offset() == alias.storage_offset() + shift &&
         source.sizes() == alias.sizes() && source.strides() == alias.strides();
}

// A copy from another quantized tensor brings its scale along.
void take_quantizer(c10::TensorImpl& from, c10::TensorImpl& to) {
  static_cast<at::QTensorImpl&>(to).set_quantizer_(static_cast<at::QTensorImpl&>(from).quantizer());
}

}  // namespace

// Here, because it is long, and each of the unboxed calls has one.
C10_NOINLINE kernel_call::~kernel_call() {
  for (tensor_loan& loan : tensors_) {
    if (C10_LIKELY(is_plain(*loan.alias.unsafeGetTensorImpl()))) keep_spare(loan.alias);
  }
  for (storage_loan& loan : storages_) {
    // Other memory is the CPU allocator's, of which a kernel may have made copy-on-write memory.
    const void* const data = loan.alias.unsafeGetStorageImpl()->_mutable_data_ptr_no_checks().get();
    if (C10_LIKELY(!loan.staged && data == loan.data)) keep_spare(loan.alias);
  }
}

// Notes a device of this backend. The first one decides who serves the call.
void kernel_call::join(c10::Device device) {
  if (tensors_device_) {
    if (*tensors_device_ != device && !stranger_) stranger_ = device;
    return;
  }
  tensors_device_ = device;
  choose_target(device.index());
}

void kernel_call::choose_target(c10::DeviceIndex index) {
  const kernel_target& chosen = target_of(index);
  if (C10_LIKELY(&chosen == &cpu_target)) return;
  if (!has_kernel_ || has_kernel_(chosen)) target_ = &chosen;
}

// Notes the device of a tensor. A mismatch is reported by `begin`: only then it is known which
// device of this backend the others should have been on.
void kernel_call::join(const at::Tensor& tensor, access how, mixing allowed) {
  const c10::Device device = tensor.device();
  if (device.type() == core::device_type) return join(device);
  const bool is_scalar =
      device.is_cpu() && tensor.dim() == 0 && how == access::read && allowed != mixing::no_scalars;
  const bool may_join =
      device.is_cpu() && (allowed == mixing::cpu_tensors || mixing_ != mixing::refused);
  if (is_scalar && !may_join) ++cpu_scalars_;
  if (!is_scalar && !may_join && !stranger_) stranger_ = device;
}

bool kernel_call::reads_device() {
  return std::any_of(tensors_.begin(), tensors_.end(),
                     [](const tensor_loan& loan) { return loan.how != access::overwrite; });
}

at::Tensor kernel_call::lend(at::Tensor tensor, access how, mixing allowed) {
  if (!tensor.defined()) return tensor;
  join(tensor, how, allowed);
  if (tensor.device().type() != core::device_type) return tensor;
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  const bool consists_of_members = has_members(impl);
  // A tensor whose storage has not been lent has not been lent either.
  const size_t before = storages_.size();
  const size_t place = consists_of_members ? no_storage : lend_storage(tensor.storage(), how);
  if (place != before) {
    if (tensor_loan* const known = tensors_.find_source(&impl)) {
      // The tensor is an argument and the result at once, so its old elements are needed.
      if (how != known->how) known->how = access::write;
      return known->alias;
    }
  }

  at::Tensor alias;
  if (C10_LIKELY(is_plain(impl) && !keep_requires_grad_)) {
    alias = make_alias_tensor(*target_, tensor, storages_[place].alias);
  } else if (consists_of_members) {
    // An operator that overwrites a sparse tensor, such as fill_, may leave the indices alone.
    const access of_members = how == access::overwrite ? access::write : how;
    alias = make_special_alias(*target_, tensor, {});
    for_each_member(*alias.unsafeGetTensorImpl(),
                    [&](at::Tensor& member) { member = lend(std::move(member), of_members); });
  } else {
    alias = make_special_alias(*target_, tensor, storages_[place].alias);
  }
  if (C10_UNLIKELY(keep_requires_grad_ && impl.requires_grad())) alias.set_requires_grad(true);
  tensors_.add({std::move(tensor), alias, how, place});
  return alias;
}

c10::Storage kernel_call::lend(const c10::Storage& storage) {
  if (!storage || storage.device_type() != core::device_type) return storage;
  if (!tensors_device_) join(storage.device());
  storage_loan& loan = storages_[lend_storage(storage, access::write)];
  if (loan.staged) loan.staged->use_all();
  return loan.alias;
}

c10::Device kernel_call::lend(c10::Device device) {
  device_ = device;
  if (device.type() != core::device_type) return device;
  device_ = c10::Device(core::device_type, core::resolve_index(device.index()));
  if (!tensors_device_) choose_target(device_->index());
  return target_->device(device_->index());
}

at::Generator kernel_call::lend(const at::Generator& given) const {
  const c10::Device own = given.defined() ? given.device() : c10::Device(c10::kCPU);
  const c10::Device device = device_.value_or(stranger_.value_or(own));
  TORCH_CHECK(!given.defined() || own == device, "Expected a generator of ", device,
              " but found one of ", own);
  if (device.type() != core::device_type) return given;
  return target_->generator(given, device.index());
}

size_t kernel_call::lend_storage(const c10::Storage& storage, access how) {
  c10::StorageImpl& source = *storage.unsafeGetStorageImpl();
  // mutable_data() gives a copy-on-write storage memory of its own, so reads do not call it. If one
  // argument reads such a storage and another one writes it, both have to see the new memory: hence
  // the alias that is there already gets it below.
  void* const data = how == access::read ? const_cast<void*>(source.data()) : source.mutable_data();
  if (storage_loan* const known = storages_.find_source(&source)) {
    if (!known->staged && known->data != data) {
      known->alias.set_data_ptr_noswap(own_memory(source, data, known->alias.device()));
      known->data = data;
    }
    return static_cast<size_t>(known - storages_.begin());
  }
  const c10::DeviceIndex index = source.device().index();
  const c10::Device there = target_->device(index);
  if (C10_LIKELY(target_->reaches(index))) {
    storages_.add(
        {storage, make_alias_storage(*target_, source, own_memory(source, data, there)), data, {}});
  } else {
    has_stages_ = true;
    storages_.add({storage, make_alias_storage(*target_, source, {nullptr, there}), nullptr,
                   std::make_unique<stage>(source)});
  }
  return storages_.size() - 1;
}

// The wait that follows would be refused in a capture: so that nothing of it is in the graph, and
// no memory is taken, this is.
void kernel_call::fill_stages() {
  for (const storage_loan& loan : storages_) {
    if (loan.staged) core::refuse_wait_in_capture(loan.source.device().index());
  }
  for (const tensor_loan& loan : tensors_) {
    storage_loan* const lent = loan_of(loan);
    if (lent == nullptr || !lent->staged) continue;
    lent->staged->use(*loan.source.unsafeGetTensorImpl(), loan.how == access::overwrite);
  }
  for (storage_loan& loan : storages_) {
    if (!loan.staged) continue;
    c10::StorageImpl& alias = *loan.alias.unsafeGetStorageImpl();
    loan.staged->fill(alias);
    loan.data = alias.data();
  }
  for (const tensor_loan& loan : tensors_) {
    c10::TensorImpl& alias = *loan.alias.unsafeGetTensorImpl();
    const int64_t shift = shift_of(alias, loan_of(loan));
    if (shift != 0) tensor_fields::set_offset(alias, alias.storage_offset() - shift);
  }
}

// How many elements of `alias` the storage has before its stage, `lent`'s, begins. 0 for null.
int64_t kernel_call::shift_of(const c10::TensorImpl& alias, const storage_loan* lent) {
  if (C10_LIKELY(lent == nullptr || !lent->staged)) return 0;
  return static_cast<int64_t>(lent->staged->begin() / alias.itemsize());
}

// A factory such as arange has no tensor to lend, and yet its result is copied to the device.
bool kernel_call::makes_copies() const {
  return device_ && device_->type() == core::device_type && !target_->reaches(device_->index());
}

void kernel_call::begin(std::optional<operator_text> op) {
  TORCH_CHECK(!stranger_ || !tensors_device_ || mixing_ == mixing::anything,
              "Expected all tensors to be on the same device, but found at least two devices, ",
              *tensors_device_, " and ", *stranger_, "!");
  // As a TensorIterator of CUDA's has it.
  TORCH_CHECK(C10_LIKELY(cpu_scalars_ < 2) || !tensors_device_ || reads_device(),
              "Trying to pass too many CPU scalars to non-CPU kernel!");
  if (!device_) device_ = tensors_device_;
  if (C10_UNLIKELY(has_stages_ || makes_copies())) {
    if (op) {
      before_fallback(*op);
      core::note_fallback(tensors_device_.value_or(*device_).index());
    }
    if (op && has_stages_) core::note_synchronizing();
    if (op) counts_.emplace(*op);
    // The wait for the stages' copies is one for earlier work too. The report tells the two apart,
    // since a kernel of the device's would not need the copies.
    if (C10_UNLIKELY(op && core::are_calls_noted())) {
      wait_for_streams();
      core::note_own_work();
    }
    fill_stages();
  }
  if (op) note_for_report();
  wait_for_streams();  // after fill_stages, for its copies too
  below_autograd_.emplace(target_->keys_above);
}

void kernel_call::wait_for_streams() {
  std::optional<c10::Device> waited;  // storages of one device mostly come in a row
  for (const storage_loan& loan : storages_) {
    const c10::Device device = loan.source.device();
    if (waited == device) continue;
    target_->wait(device.index());
    waited = device;
  }
}

// An operator that a kernel calls may have named itself already.
void kernel_call::add_place(c10::AcceleratorError& error, const operator_text& op) const {
  if (!error.context().empty()) return;
  error.add_context(
      c10::str("in ", op.text(), device_ ? " on " : "", device_ ? device_->str() : std::string()));
}

// In this order: a stage needs to know all written bytes before it copies them, and a tensor gets
// new sizes when its storage has the memory for them. The bytes are those that an alias covers now:
// the kernel may have resized it within its storage.
void kernel_call::finish() {
  for (const tensor_loan& loan : tensors_) {
    if (loan.how == access::read || C10_LIKELY(!has_stages_)) continue;
    storage_loan* const lent = loan_of(loan);
    if (lent != nullptr && lent->staged) {
      lent->staged->note_written(*loan.alias.unsafeGetTensorImpl());
    }
  }
  for (storage_loan& loan : storages_) finish_storage(loan);
  for (const tensor_loan& loan : tensors_) {
    if (loan.how != access::read) finish_tensor(loan);
  }
}

kernel_call::storage_loan* kernel_call::loan_of(const c10::TensorImpl& alias) {
  return alias.has_storage() ? storages_.find_alias(alias.unsafe_storage().unsafeGetStorageImpl())
                             : nullptr;
}

// Without a search, unless the kernel gave the alias another storage.
kernel_call::storage_loan* kernel_call::loan_of(const tensor_loan& loan) {
  const c10::TensorImpl& alias = *loan.alias.unsafeGetTensorImpl();
  if (C10_LIKELY(loan.storage != no_storage)) {
    storage_loan& lent = storages_[loan.storage];
    if (C10_LIKELY(is_same(lent.alias, alias.unsafe_storage()))) return &lent;
  }
  return loan_of(alias);
}

void kernel_call::finish_storage(storage_loan& loan) {
  c10::StorageImpl& alias = *loan.alias.unsafeGetStorageImpl();
  if (C10_UNLIKELY(loan.staged != nullptr)) {
    if (alias.data() == loan.data || loan.staged->has_room_for(alias)) {
      return loan.staged->write_back(alias);
    }
    replace_memory(loan);
  } else if (C10_UNLIKELY(alias.data() != loan.data)) {
    replace_memory(loan);
  }
  if (C10_UNLIKELY(alias.nbytes() != loan.source.nbytes())) {
    loan.source.set_nbytes(alias.nbytes());
  }
}

// Gives the device's storage the memory that the kernel gave the alias. The alias lies over the
// storage's memory again, for what the kernel has kept and for the replays of a graph.
void kernel_call::replace_memory(storage_loan& loan) {
  c10::StorageImpl& alias = *loan.alias.unsafeGetStorageImpl();
  c10::StorageImpl& source = *loan.source.unsafeGetStorageImpl();
  if (loan.staged) loan.staged->complete(alias);
  const c10::Device there = alias.device();
  source.set_data_ptr_noswap(
      target_->adopt(std::move(alias.mutable_data_ptr()), alias.nbytes(), source.device()));
  if (!loan.staged) alias.set_data_ptr_noswap(own_memory(source, source.mutable_data(), there));
}

void kernel_call::finish_tensor(const tensor_loan& loan) {
  c10::TensorImpl& source = *loan.source.unsafeGetTensorImpl();
  c10::TensorImpl& alias = *loan.alias.unsafeGetTensorImpl();
  if (C10_UNLIKELY(has_members(source))) {
    for_each_member(alias, [&](at::Tensor& member) { member = take_back(std::move(member)); });
    copy_members(alias, source);
    return;
  }
  const storage_loan* const lent = loan_of(loan);
  if (C10_UNLIKELY(lent == nullptr)) {
    take_back_storage(alias, nullptr, source.device());
    source.set_storage_keep_dtype(alias.unsafe_storage());
  } else if (C10_UNLIKELY(!is_same(lent->source, source.unsafe_storage()))) {
    source.set_storage_keep_dtype(lent->source);
  }
  const bool is_nested = alias.key_set().has(c10::DispatchKey::NestedTensor);
  const int64_t shift = shift_of(alias, lent);
  if (C10_UNLIKELY(!is_nested && !same_geometry(source, alias, shift))) {
    source.set_sizes_and_strides(alias.sizes(), alias.strides(), alias.storage_offset() + shift);
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

at::Tensor kernel_call::take_back(at::Tensor result) {
  if (!result.defined()) return result;
  c10::TensorImpl* impl = result.unsafeGetTensorImpl();
  if (const tensor_loan* const lent = tensors_.find_alias(impl)) return lent->source;
  const bool is_targets = impl->device().type() == target_->type;
  if (!is_targets || !device_ || device_->type() != core::device_type) return result;
  const c10::Device device = *device_;

  // A view of what was lent: the same view of the device's tensor.
  const storage_loan* const lent = loan_of(*impl);
  if (C10_UNLIKELY(lent != nullptr) && is_plain(*impl)) {
    for (const tensor_loan& loan : tensors_) {
      const c10::TensorImpl& source = *loan.source.unsafeGetTensorImpl();
      if (source.has_storage() && is_same(source.unsafe_storage(), lent->source)) {
        at::Tensor view = as_view_of(*impl, source);
        tensor_fields::set_offset(*view.unsafeGetTensorImpl(),
                                  impl->storage_offset() + shift_of(*impl, lent));
        return view;
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
    take_back_storage(*impl, lent, device);
  }
  relabel(*target_, *impl, device);
  return result;
}

void kernel_call::take_back_storage(c10::TensorImpl& result, const storage_loan* lent,
                                    c10::Device device) {
  const c10::Storage& storage = result.unsafe_storage();
  if (!storage) return;
  c10::StorageImpl* const impl = storage.unsafeGetStorageImpl();
  // A view that is not plain, such as a quantized tensor's transpose, or a nested tensor over a
  // lent buffer: it shares the storage that was lent.
  if (lent != nullptr) return result.set_storage_keep_dtype(lent->source);
  if (C10_LIKELY(storage.use_count() == 1)) return adopt_storage(*target_, *impl, device);
  // Results that share a storage on the CPU share one on the device too.
  for (const auto& [known, theirs] : shared_) {
    if (known == impl) return result.set_storage_keep_dtype(theirs);
  }
  shared_.emplace_back(impl, share_storage(*target_, storage, device));
  result.set_storage_keep_dtype(shared_.back().second);
}

}  // namespace outback::ops
