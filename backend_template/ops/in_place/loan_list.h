// The tensors or storages that a call has lent, each with its alias. A call may lend thousands: a
// fused optimizer takes all parameters at once.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>
#include <c10/util/SmallVector.h>
#include <c10/util/flat_hash_map.h>

#include <cstddef>
#include <memory>
#include <utility>

namespace outback::ops {

/// `Loan` has the members `source` and `alias`, tensors or storages, which must keep referring to
/// the same objects.
template <class Loan>
class loan_list {
 public:
  /// The reference is valid until the next `add`.
  Loan& add(Loan&& loan) { return loans_.emplace_back(std::move(loan)); }

  /// Returns the loan whose source is the object at `address`, or null.
  Loan* find_source(const void* address) { return find<&Loan::source>(sources_, address); }
  /// Returns the loan whose alias is the object at `address`, or null.
  Loan* find_alias(const void* address) { return find<&Loan::alias>(aliases_, address); }

  size_t size() const { return loans_.size(); }
  Loan& operator[](size_t index) { return loans_[index]; }
  auto begin() { return loans_.begin(); }
  auto end() { return loans_.end(); }

 private:
  // For up to this number of loans a linear search is faster.
  static constexpr size_t few = 16;

  // The indices of the first `size` loans. The first search among more than `few` loans builds it,
  // since most calls lend few objects, and many calls that lend more never search for an alias.
  struct places {
    ska::flat_hash_map<const void*, size_t> of;
    size_t size = 0;
  };

  static const void* address_of(const at::Tensor& tensor) { return tensor.unsafeGetTensorImpl(); }
  static const void* address_of(const c10::Storage& storage) {
    return storage.unsafeGetStorageImpl();
  }

  template <auto member>
  Loan* find(std::unique_ptr<places>& known, const void* address) {
    if (C10_UNLIKELY(loans_.size() > few)) return find_among_many<member>(known, address);
    for (Loan& loan : loans_) {
      if (address_of(loan.*member) == address) return &loan;
    }
    return nullptr;
  }

  template <auto member>
  Loan* find_among_many(std::unique_ptr<places>& known, const void* address) {
    if (known == nullptr) known = std::make_unique<places>();
    for (; known->size < loans_.size(); ++known->size) {
      known->of.emplace(address_of(loans_[known->size].*member), known->size);
    }
    const auto found = known->of.find(address);
    return found == known->of.end() ? nullptr : &loans_[found->second];
  }

  c10::SmallVector<Loan, 4> loans_;
  std::unique_ptr<places> sources_;
  std::unique_ptr<places> aliases_;
};

}  // namespace outback::ops
