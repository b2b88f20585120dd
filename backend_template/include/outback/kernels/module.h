// Code that a native kernel loads and launches through the runtime: machine code or source that the
// vendor's library has in a file or a string. A kernel that the vendor's own compiler has linked
// into the library needs none of this.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "outback/kernels/stream.h"
#include "outback/runtime.h"

namespace outback::kernels {

/// Code on one device. Thread-safe. Its kernels live as long as the object; launches that are not
/// done when the object goes still run.
class module {
 public:
  /// Loads `bytes`, which may take seconds. Throws c10::NotImplementedError if the runtime has no
  /// group `kernels` or does not take `format`, and c10::Error if the driver refuses the bytes: the
  /// text has the words of the driver or its compiler.
  module(c10::Device device, outback_format format, std::string_view bytes);
  ~module();
  module(const module&) = delete;
  module& operator=(const module&) = delete;

  c10::Device device() const { return device_; }
  /// Returns the kernel of this name, each time the same. Throws c10::Error if there is none.
  outback_kernel kernel(const std::string& name) const;

 private:
  const c10::Device device_;
  outback_module handle_ = nullptr;
};

/// How many groups a launch has, how many items each group has, and how many bytes of local memory
/// a group has beyond what its kernel declares.
struct launch_shape {
  std::array<uint32_t, 3> groups;
  std::array<uint32_t, 3> items;
  uint64_t local_size = 0;
};

namespace detail {

/// An argument, by value.
struct argument_value {
  std::array<std::byte, 64> bytes;
  uint32_t size;
  uint32_t is_memory;
};

inline argument_value value_of(const at::Tensor& tensor) {
  void* const ptr = tensor.mutable_data_ptr();
  argument_value value = {.bytes = {}, .size = sizeof(ptr), .is_memory = 1};
  std::memcpy(value.bytes.data(), &ptr, sizeof(ptr));
  return value;
}
template <class T>
argument_value value_of(const T& number) {
  static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>,
                "an argument of a kernel is a tensor, a number or a plain struct");
  static_assert(sizeof(T) <= sizeof(argument_value::bytes));
  argument_value value = {.bytes = {}, .size = sizeof(T), .is_memory = 0};
  std::memcpy(value.bytes.data(), &number, sizeof(T));
  return value;
}

void launch(kernel_stream& stream, outback_kernel kernel, const launch_shape& shape,
            const argument_value* values, uint32_t count);

}  // namespace detail

/// Enqueues a kernel of the stream's device. Arguments are tensors, which become pointers to their
/// first element, and numbers or plain structs of exactly the types that the kernel declares. Does
/// not wait. Throws c10::Error if the arguments, as far as the driver knows them, or the shape do
/// not fit.
///
///   kernel_stream stream(out.device());
///   launch(stream, add, {{blocks, 1, 1}, {256, 1, 1}}, out, a, b, int32_t(out.numel()));
template <class... Args>
void launch(kernel_stream& stream, outback_kernel kernel, const launch_shape& shape,
            const Args&... args) {
  const std::array<detail::argument_value, sizeof...(Args)> values = {detail::value_of(args)...};
  detail::launch(stream, kernel, shape, values.data(), uint32_t(values.size()));
}

}  // namespace outback::kernels
