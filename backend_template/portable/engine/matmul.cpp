#include "backend_template/portable/engine/matmul.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <utility>

#include "backend_template/core/streams/stream.h"
#include "backend_template/portable/engine/kernel_family.h"
#include "backend_template/portable/engine/launch.h"
#include "backend_template/portable/engine/number_type.h"

namespace outback::portable {
namespace {

constinit kernel_family of_matrices("matmul", "matmul");
constinit kernel_family of_vector("matmul", "matmul_vector");
constinit kernel_family of_small("matmul", "matmul_small");
constinit kernel_family finish("matmul", "matmul_finish");

using strides = std::array<int64_t, 3>;  // batch, row, column

// `product_T` in portable/kernels/matmul.k.
struct product {
  int64_t batches, m, n, k, parts;
  strides of_a, of_b, of_before, of_c;
};

struct operands {
  device_pointer c, before, a, b;
};

// A vector is one column.
strides strides_of(const at::Tensor& tensor) {
  const at::IntArrayRef of = tensor.strides();
  switch (of.size()) {
    case 3:
      return {of[0], of[1], of[2]};
    case 2:
      return {0, of[0], of[1]};
    case 1:
      return {0, of[0], 0};
    default:
      return {};
  }
}

product product_of(const at::Tensor& a, const at::Tensor& b, const at::Tensor& c) {
  const at::IntArrayRef sizes = c.sizes();
  const size_t dims = sizes.size();
  product made = {};
  made.batches = dims == 3 ? sizes[0] : 1;
  made.m = dims == 3 ? sizes[1] : dims == 0 ? 1 : sizes[0];
  made.n = dims >= 2 ? sizes.back() : 1;
  made.k = a.size(-1);
  made.parts = 1;
  made.of_a = strides_of(a);
  if (dims == 0) std::swap(made.of_a[1], made.of_a[2]);  // the left one of two vectors is a row
  made.of_b = strides_of(b);
  made.of_c = strides_of(c);
  return made;
}

strides turned(const strides& of) {
  return {of[0], of[2], of[1]};
}

// A row times a matrix is the turned matrix times a column.
void turn(product& sizes, operands& memory) {
  std::swap(sizes.m, sizes.n);
  sizes.of_a = turned(std::exchange(sizes.of_b, turned(sizes.of_a)));
  sizes.of_before = turned(sizes.of_before);
  sizes.of_c = turned(sizes.of_c);
  std::swap(memory.a, memory.b);
}

// How many of the rows each group of the kernel for a vector makes.
int64_t rows_of_group(const product& sizes, int64_t items) {
  const auto at_least = [](int64_t n) { return static_cast<int64_t>(std::bit_ceil(uint64_t(n))); };
  // Neighbours along k, four values or more for each item; or neighbours along m.
  const bool is_along_k = sizes.of_a[2] == 1;
  const int64_t rows = is_along_k ? items / std::min(items, at_least((sizes.k + 3) / 4)) : 32;
  return std::min(rows, at_least(sizes.m));
}

// Splits long sums of so few tiles that most of a large device would have none.
int64_t parts_of(int64_t tiles, int64_t k) {
  constexpr int64_t tiles_wanted = 256;
  constexpr int64_t least_length = 1024;
  return std::clamp<int64_t>(tiles_wanted / tiles, 1, std::max<int64_t>(1, k / least_length));
}

bool is_small(const product& sizes) {
  return sizes.m * sizes.n <= 256 && sizes.k <= 64;
}

int64_t groups_of(int64_t tiles) {
  constexpr int64_t most = 1 << 16;  // fill any device, and the groups share the tiles
  return std::min(tiles, most);
}

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// C is the type of the sums.
template <class C>
void launch_product(const at::Tensor& out, product sizes, operands memory, number_type type,
                    const at::Scalar& alpha_number, const at::Scalar& beta_number) {
  const C alpha = alpha_number.to<C>(), beta = beta_number.to<C>();
  const c10::DeviceIndex device = out.device().index();
  const c10::Stream stream = core::current_stream(device);
  if (is_small(sizes)) {
    const kernels::packed_kernel& kernel = of_small.of(device, type);
    return launch(stream, kernel, groups_for(out.numel(), kernel), sizes, alpha, beta, memory.c,
                  memory.before, memory.a, memory.b);
  }
  if (sizes.m == 1) turn(sizes, memory);
  const bool is_vector = sizes.n == 1;
  const kernels::packed_kernel& kernel = (is_vector ? of_vector : of_matrices).of(device, type);
  const int64_t items = kernel.items;
  const int64_t rows = is_vector ? rows_of_group(sizes, items) : items / 4;
  const int64_t tiles = sizes.batches * ceil_div(sizes.m, rows) * ceil_div(sizes.n, 64);
  sizes.parts = parts_of(tiles, sizes.k);

  at::Tensor sums;
  device_pointer to_sums = {};
  if (sizes.parts > 1) {
    sums = at::empty({sizes.parts * out.numel()},
                     out.options().dtype(c10::CppTypeToScalarType<C>::value));
    to_sums = {sums.mutable_data_ptr()};
  }
  const int64_t groups = groups_of(tiles * sizes.parts);
  if (is_vector) {
    launch(stream, kernel, groups, sizes, rows, alpha, beta, memory.c, to_sums, memory.before,
           memory.a, memory.b);
  } else {
    launch(stream, kernel, groups, sizes, alpha, beta, memory.c, to_sums, memory.before, memory.a,
           memory.b);
  }
  if (sizes.parts > 1) {
    const kernels::packed_kernel& last = finish.of(device, type);
    launch(stream, last, groups_for(out.numel(), last), sizes, alpha, beta, memory.c, to_sums,
           memory.before);
  }
}

number_type type_of(const at::Tensor& a, const at::Tensor& b, const at::Tensor& out) {
  const c10::ScalarType dtype = out.scalar_type();
  if (a.scalar_type() != dtype || b.scalar_type() != dtype) throw no_kernel();
  if (dtype == c10::kDouble) return number_type::f64;
  const std::optional<number_type> type = type_of_memory(dtype);
  if (!type) throw no_kernel();
  return *type;
}

}  // namespace

void run_matmul(const at::Tensor& a, const at::Tensor& b, const at::Tensor& out,
                const added_to& sum) {
  const number_type type = type_of(a, b, out);
  const bool reads_before = sum.before.defined() && sum.beta.toDouble() != 0;
  if (reads_before && sum.before.scalar_type() != out.scalar_type()) throw no_kernel();
  at::assert_no_internal_overlap(out);
  if (out.numel() == 0) return;
  product sizes = product_of(a, b, out);
  operands memory = {{out.mutable_data_ptr()}, {}, {a.const_data_ptr()}, {b.const_data_ptr()}};
  if (reads_before) {
    sizes.of_before = strides_of(sum.before);
    memory.before = {sum.before.const_data_ptr()};
  }
  if (type == number_type::f64) {
    launch_product<double>(out, sizes, memory, type, sum.alpha, sum.beta);
  } else {
    launch_product<float>(out, sizes, memory, type, sum.alpha, sum.beta);
  }
}

void run_matmul(const at::Tensor& a, const at::Tensor& b, const at::Tensor& out) {
  run_matmul(a, b, out, {at::Tensor(), 0, 1});
}

}  // namespace outback::portable
