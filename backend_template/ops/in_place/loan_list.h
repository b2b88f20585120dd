// What a call has lent, each thing with its alias. A call may lend thousands: a fused optimizer
// takes all parameters at once.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>
#include <c10/util/SmallVector.h>

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <utility>

namespace outback::ops {

/// `Loan` has the members `source` and `alias`, tensors or storages, which stay what they are.
template <class Loan>
class loan_list {
 public:
  /// The reference is valid until the next `add`.
  Loan& add(Loan&& loan) { return loans_.emplace_back(std::move(loan)); }

  /// Returns the loan whose source or alias is the object at `address`, or null.
  Loan* find(const void* address) {
    if (C10_UNLIKELY(loans_.size() > few)) return find_among_many(address);
    for (Loan& loan : loans_) {
      if (address_of(loan.source) == address || address_of(loan.alias) == address) return &loan;
    }
    return nullptr;
  }

  auto begin() { return loans_.begin(); }
  auto end() { return loans_.end(); }

 private:
  // A search one by one is faster for as many.
  static constexpr size_t few = 16;

  static const void* address_of(const at::Tensor& tensor) { return tensor.unsafeGetTensorImpl(); }
  static const void* address_of(const c10::Storage& storage) {
    return storage.unsafeGetStorageImpl();
  }

  Loan* find_among_many(const void* address) {
    if (places_ == nullptr) places_ = std::make_unique<std::unordered_map<const void*, size_t>>();
    for (; indexed_ < loans_.size(); ++indexed_) {
      places_->emplace(address_of(loans_[indexed_].source), indexed_);
      places_->emplace(address_of(loans_[indexed_].alias), indexed_);
    }
    const auto found = places_->find(address);
    return found == places_->end() ? nullptr : &loans_[found->second];
  }

  c10::SmallVector<Loan, 4> loans_;
  std::unique_ptr<std::unordered_map<const void*, size_t>> places_;  // those of `indexed_` loans
  size_t indexed_ = 0;
};

}  // namespace outback::ops
