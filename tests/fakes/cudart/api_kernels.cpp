// fake_kernels.h.
#include <fmt/format.h>

#include <string_view>

#include "tests/fakes/cudart/driver.hpp"
#include "tests/fakes/cudart/fake_kernels.h"
#include "tests/fakes/cudart/launch.hpp"

using namespace fake_cuda;

namespace {

kernel_body make_body(std::vector<parameter> placed, fake_cudart_body body, void* data) {
  return [placed = std::move(placed), body, data](const kernel_shape& shape, std::byte* values) {
    std::vector<void*> arguments;
    for (const parameter& each : placed) arguments.push_back(values + each.offset);
    const fake_cudart_shape told = {.grid = {shape.grid.x, shape.grid.y, shape.grid.z},
                                    .block = {shape.block.x, shape.block.y, shape.block.z},
                                    .shared = shape.shared};
    this_thread().in_host_function = true;
    body(&told, arguments.data(), data);
    this_thread().in_host_function = false;
    return cudaSuccess;
  };
}

// Those of the arguments that are addresses, as the record has them.
std::string spell(call& c, const void* const* arguments, int count) {
  std::string spelled;
  for (int i = 0; i < count && c.m.recorded.arguments(); ++i) {
    const auto address = reinterpret_cast<uintptr_t>(arguments[i]);
    if (c.m.blocks.find(address) == nullptr) continue;
    spelled +=
        fmt::format("{}{}.0={}", spelled.empty() ? "" : " ", i, spell_address(c.m.blocks, address));
  }
  return spelled;
}

}  // namespace

extern "C" {

int fake_cudart_record(const char* kinds) {
  const call c(__func__);
  return c.m.recorded.start(kinds == nullptr ? "" : kinds) ? 0 : -1;
}

void fake_cudart_record_stop(void) {
  const call c(__func__);
  c.m.recorded.stop();
}

void fake_cudart_record_clear(void) {
  const call c(__func__);
  c.m.recorded.clear();
}

int fake_cudart_recorded(void) {
  const call c(__func__);
  return int(c.m.recorded.lines().size());
}

const char* fake_cudart_recorded_line(int index) {
  const call c(__func__);
  const auto& lines = c.m.recorded.lines();
  return index >= 0 && std::size_t(index) < lines.size() ? lines[std::size_t(index)].c_str()
                                                         : nullptr;
}

int fake_cudart_set_body(const void* function, const char* name, const size_t* sizes, int count,
                         fake_cudart_body body, void* data) {
  const call c(__func__);
  kernel* found = c.m.kernels.find(function);
  if (found == nullptr) {
    found = &c.m.kernels.add(function);
    found->symbol = name;
  }
  if (sizes != nullptr) found->set_parameters(place_parameters({sizes, sizes + count}));
  if (!found->parameters()) return -1;
  found->body = make_body(*found->parameters(), body, data);
  return 0;
}

int fake_cudart_kernels(void) {
  const call c(__func__);
  return int(c.m.kernels.size());
}

int fake_cudart_call(const char* name, void* stream_handle, const void* const* arguments,
                     int count) {
  return enter(name, [&](call& c) {
    const stream_ptr on = find_stream_here(c, static_cast<cudaStream_t>(stream_handle));
    add_call(c, name, spell(c, arguments, count), *on, nullptr);
  });
}

int fake_cudart_call_with_body(const char* name, void* stream_handle, const void* const* arguments,
                               int count, void (*body)(void*), void* data, void (*release)(void*)) {
  const std::shared_ptr<void> kept(data, release);
  return enter(name, [&](call& c) {
    const stream_ptr on = find_stream_here(c, static_cast<cudaStream_t>(stream_handle));
    add_call(c, name, spell(c, arguments, count), *on, [body, kept] { body(kept.get()); });
  });
}

void* fake_cudart_driver_function(const char* name, unsigned version) {
  void* found = nullptr;
  unsigned best = 0;
  for (const driver::function& each : driver::functions()) {
    if (std::string_view(each.name) != name || each.since > version || each.since < best) continue;
    best = each.since;
    found = each.address;
  }
  return found;
}

}  // extern "C"
