// cat, and so stack and its relatives.
#include <c10/util/SmallVector.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "backend_template/core/streams/stream.h"
#include "backend_template/portable/engine/index_kernels.h"
#include "backend_template/portable/engine/kernel_family.h"
#include "backend_template/portable/engine/operators.h"
#include "backend_template/portable/engine/operators/structured.h"

namespace outback::portable {
namespace {

constinit kernel_family cat_kernels("move", "cat");

constexpr size_t tensors_of_launch = 4;

// `columns` in portable/kernels/move.k.
struct columns {
  std::array<uint32_t, tensors_of_launch> width{};
  uint32_t begin = 0;
  uint32_t stride = 0;
};

// PyTorch leaves out empty vectors, whatever the sizes of the others.
bool is_left_out(const at::Tensor& tensor) {
  return tensor.dim() == 1 && tensor.numel() == 0;
}

// Contiguous tensors of one dtype as matrices: what is before the dimension is their rows.
class joined_rows {
 public:
  joined_rows(const at::ITensorListRef& tensors, int64_t dim, const at::Tensor& out)
      : out_(out), size_(out.element_size()) {
    for (int64_t d = 0; d < dim; ++d) rows_ *= out.size(d);
    for (const at::Tensor& tensor : tensors) {
      if (tensor.numel() == 0) continue;
      parts_.push_back({tensor.const_data_ptr(), tensor.numel() / rows_});
    }
    widen();
  }

  // An element is the largest of up to 8 bytes that all rows are made of.
  void launch_all() const {
    const c10::DeviceIndex device = out_.device().index();
    const c10::Stream stream = core::current_stream(device);
    const kernels::packed_kernel& kernel = cat_kernels.of(device, type_of_size(size_));
    columns of;
    of.stride = static_cast<uint32_t>(out_.numel() * out_.element_size() / size_ / rows_);
    for (size_t first = 0; first < parts_.size(); first += tensors_of_launch) {
      std::array<device_pointer, tensors_of_launch> from{};
      int64_t all = 0;
      for (size_t i = 0; i < tensors_of_launch; ++i) {
        const bool is_there = first + i < parts_.size();
        of.width[i] = is_there ? static_cast<uint32_t>(parts_[first + i].width) : 0;
        from[i] = {is_there ? parts_[first + i].data : nullptr};
        all += of.width[i];
      }
      const int64_t count = rows_ * all;
      launch(stream, kernel, groups_for(count, kernel), of, count,
             device_pointer{out_.const_data_ptr()}, from[0], from[1], from[2], from[3]);
      of.begin += static_cast<uint32_t>(all);
    }
  }

 private:
  struct part {
    const void* data;
    int64_t width;  // of a row, in elements
  };

  void widen() {
    constexpr int64_t widest = 8;
    const auto is_even = [&](const part& each) {
      return each.width % 2 == 0 && reinterpret_cast<uintptr_t>(each.data) % (size_ * 2) == 0;
    };
    const auto to = reinterpret_cast<uintptr_t>(out_.const_data_ptr());
    while (size_ < widest && to % (size_ * 2) == 0 &&
           std::all_of(parts_.begin(), parts_.end(), is_even)) {
      size_ *= 2;
      for (part& each : parts_) each.width /= 2;
    }
  }

  const at::Tensor& out_;
  uintptr_t size_;
  int64_t rows_ = 1;
  c10::SmallVector<part, 8> parts_;
};

struct cat : at::meta::structured_cat {
  template <class WorkedOut>
  void impl(const WorkedOut& worked_out, const at::ITensorListRef& tensors, int64_t /*dim*/,
            const at::Tensor& out) {
    constexpr int64_t most = std::numeric_limits<int32_t>::max();
    if (worked_out.all_same_dtype && worked_out.all_contiguous &&
        worked_out.memory_format == at::MemoryFormat::Contiguous && out.is_contiguous() &&
        out.numel() <= most) {
      if (out.numel() != 0) joined_rows(tensors, worked_out.dim, out).launch_all();
      return;
    }
    one_by_one(tensors, worked_out.dim, out);
  }

 private:
  static void one_by_one(const at::ITensorListRef& tensors, int64_t dim, const at::Tensor& out) {
    int64_t begin = 0;
    for (const at::Tensor& tensor : tensors) {
      if (is_left_out(tensor)) continue;
      if (tensor.scalar_type() == out.scalar_type()) {
        walk elements(tensor.sizes());
        elements.add(walk::out, out, out.strides(), begin * out.stride(dim));
        elements.add(walk::in, tensor, tensor.strides());
        launch_copy(elements, out.element_size(), out.device().index());
      } else {
        copy_values(out.narrow(dim, begin, tensor.size(dim)), tensor);
      }
      begin += tensor.size(dim);
    }
  }
};

}  // namespace

void add_cat(ops::registrar& to) {
  add_structured<cat, at::_ops::cat, at::_ops::cat_out>(to);
}

}  // namespace outback::portable
