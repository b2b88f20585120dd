// Every slot of the CUDA runtime once, with arguments that it takes.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "backend_template/runtimes/cuda/cuda_runtime.hpp"
#include "outback/runtime.h"

namespace outback::cuda {

/// A runtime of its own, and one of everything on device 1, which the destructor gives back unless
/// a slot has done so. No context is made on another device.
class slot_world {
 public:
  static constexpr int32_t device = 1, peer = 2;
  static constexpr std::size_t size = 4096;
  static constexpr std::string_view ptx =
      ".version 8.0\n.target sm_80\n.entry first(.param .u64 to) { ret; }\n"
      ".entry second() { ret; }\n";

  slot_world();
  ~slot_world();
  slot_world(const slot_world&) = delete;
  slot_world& operator=(const slot_world&) = delete;

  const outback_runtime& t() const { return table_; }
  void* self() const { return table_.self; }

  void* memory = nullptr;
  void* made_memory = nullptr;
  void* memory_of_peer = nullptr;
  void* pinned = nullptr;
  void* made_pinned = nullptr;
  std::byte* foreign = nullptr;  // two pages, of which the second is registered
  bool registered_first = false, registered_second = false;
  outback_stream stream = nullptr, made_stream = nullptr, wrapped = nullptr;
  outback_event first = nullptr, last = nullptr, shared = nullptr, made_event = nullptr;
  outback_stream capturing = nullptr;  // its capture goes on until graph_end
  bool captures = false;
  outback_graph fresh = nullptr, ready = nullptr, made_graph = nullptr;
  outback_module module = nullptr, made_module = nullptr;
  outback_kernel kernel = nullptr;  // of `module`: takes a device pointer

 private:
  void check(outback_status status, const char* what) const;
  outback_graph empty_graph();

  std::unique_ptr<cuda_runtime> runtime_;
  const outback_runtime& table_;
  std::unique_ptr<std::byte, void (*)(void*)> pages_;
};

struct slot_case {
  std::string name;
  std::function<outback_status(slot_world&)> call;
  bool makes_no_context = false;
};

const std::vector<slot_case>& every_slot();

/// For GoogleTest.
void PrintTo(const slot_case& slot, std::ostream* out);
std::string test_name(const testing::TestParamInfo<slot_case>& info);

}  // namespace outback::cuda
