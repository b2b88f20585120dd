#include "backend_template/ops/in_place/spare_aliases.h"

#include <c10/core/TensorImpl.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "backend_template/ops/tensors/tensor_fields.h"

namespace outback::ops {
namespace {

// As many as almost every operator takes. A sanitizer has to see each alias die.
#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t most_spares = 0;
#else
constexpr std::size_t most_spares = 8;
#endif

enum class phase : uint8_t {
  unused,
  in_use,
  over  // the thread ends; what else ends with it may still run operators
};

// What one thread has. Owned, by plain pointers: then nothing is to be made in a new thread.
struct spares {
  template <class T>
  struct list {
    std::array<T*, most_spares> all;
    std::size_t count;

    T* take() noexcept { return count == 0 ? nullptr : all[--count]; }
    void add(T* owned) noexcept { all[count++] = owned; }
  };

  list<c10::TensorImpl> tensors;
  list<c10::StorageImpl> storages;
  phase now;
};

constinit thread_local spares of_thread{};

// Out of line, or the compiler asks for the address anew at each use.
C10_NOINLINE spares& spares_here() noexcept {
  return of_thread;
}

template <class T>
void free_all(spares::list<T>& list) noexcept {
  while (T* const spare = list.take()) c10::intrusive_ptr<T>::reclaim(spare);
}

C10_NOINLINE void free_when_thread_ends() {
  struct end {
    ~end() {
      of_thread.now = phase::over;
      free_all(of_thread.tensors);
      free_all(of_thread.storages);
    }
  };
  const thread_local end at_end;
  of_thread.now = phase::in_use;
}

template <class T>
bool has_room(spares& here, const spares::list<T>& list) noexcept {
  if (C10_UNLIKELY(here.now == phase::unused)) free_when_thread_ends();
  return list.count < most_spares && here.now == phase::in_use;
}

}  // namespace

c10::intrusive_ptr<c10::TensorImpl> take_spare_tensor() noexcept {
  return c10::intrusive_ptr<c10::TensorImpl>::reclaim(of_thread.tensors.take());
}

c10::intrusive_ptr<c10::StorageImpl> take_spare_storage() noexcept {
  return c10::intrusive_ptr<c10::StorageImpl>::reclaim(of_thread.storages.take());
}

void keep_spare(at::Tensor& alias) noexcept {
  if (!alias.getIntrusivePtr().is_uniquely_owned() ||
      !tensor_fields::has_nothing_else(*alias.unsafeGetTensorImpl())) {
    return;
  }
  // First, since memory that goes may run operators: a finalizer of Python's can be behind it.
  tensor_fields::set_storage(*alias.unsafeGetTensorImpl(), {});
  spares& here = spares_here();
  if (has_room(here, here.tensors)) here.tensors.add(alias.unsafeReleaseTensorImpl());
}

void keep_spare(c10::Storage& alias) noexcept {
  auto owned = c10::intrusive_ptr<c10::StorageImpl>::reclaim(alias.unsafeReleaseStorageImpl());
  if (!owned.is_uniquely_owned() || owned->pyobj_slot()->load_pyobj() != nullptr) {
    alias = c10::Storage(std::move(owned));
    return;
  }
  owned->set_data_ptr_noswap({});
  spares& here = spares_here();
  if (has_room(here, here.storages)) here.storages.add(owned.release());
}

}  // namespace outback::ops
