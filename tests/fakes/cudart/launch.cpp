#include "tests/fakes/cudart/launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/fakes/cudart/attributes.hpp"

namespace fake_cuda {
namespace {

void check_shape(call& c, const kernel& launched, const kernel_shape& shape, const device& on) {
  const auto limit = [&](cudaDeviceAttr which) { return unsigned(attribute(c.m, on, which)); };
  const auto fits = [](unsigned size, unsigned most) { return size > 0 && size <= most; };
  const dim3 &grid = shape.grid, &block = shape.block;
  if (!fits(grid.x, limit(cudaDevAttrMaxGridDimX)) ||
      !fits(grid.y, limit(cudaDevAttrMaxGridDimY)) ||
      !fits(grid.z, limit(cudaDevAttrMaxGridDimZ)) ||
      !fits(block.x, limit(cudaDevAttrMaxBlockDimX)) ||
      !fits(block.y, limit(cudaDevAttrMaxBlockDimY)) ||
      !fits(block.z, limit(cudaDevAttrMaxBlockDimZ)) ||
      uint64_t(block.x) * block.y * block.z > threads_of_a_block(c, launched, on)) {
    throw refusal(cudaErrorInvalidConfiguration,
                  fmt::format("{}: a grid of {}x{}x{} blocks of {}x{}x{} threads", launched.name(),
                              grid.x, grid.y, grid.z, block.x, block.y, block.z));
  }
  if (shape.shared > std::size_t(launched.dynamic_shared)) {
    throw refusal(cudaErrorInvalidValue,
                  fmt::format("{}: {} bytes of shared memory, and the function may have {}",
                              launched.name(), shape.shared, launched.dynamic_shared));
  }
}

// Calls `told(parameter, offset, word)` for what may be an address.
template <class Told>
void for_each_word(const std::vector<parameter>& parameters, const std::byte* from,
                   const Told& told) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const parameter& each = parameters[i];
    for (std::size_t at = 0; at + sizeof(uintptr_t) <= each.size; at += sizeof(uintptr_t)) {
      uintptr_t word;
      std::memcpy(&word, from + each.offset + at, sizeof(word));
      told(i, each.offset + at, word);
    }
  }
}

// As a device would find them, in one piece.
std::vector<std::byte> gather(const std::vector<parameter>& parameters, void** arguments) {
  std::vector<std::byte> all;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const parameter& each = parameters[i];
    all.resize(std::max(all.size(), each.offset + each.size));
    std::memcpy(all.data() + each.offset, arguments[i], each.size);
  }
  return all;
}

std::string spell_arguments(call& c, const std::vector<parameter>& parameters,
                            const std::vector<std::byte>& values) {
  std::string text;
  for_each_word(parameters, values.data(), [&](std::size_t i, std::size_t at, uintptr_t word) {
    if (c.m.blocks.find(word) == nullptr) return;
    text += fmt::format("{}{}.{}={}", text.empty() ? "" : " ", i, at - parameters[i].offset,
                        spell_address(c.m.blocks, word));
  });
  return text;
}

note_ptr make_note(call& c, const kernel& launched, const kernel_shape& shape, void** arguments) {
  const dim3 &grid = shape.grid, &block = shape.block;
  auto made = std::make_shared<note>();
  made->what = "kernel";
  made->dimensions =
      fmt::format("{}x{}x{}\t{}x{}x{}", grid.x, grid.y, grid.z, block.x, block.y, block.z);
  made->bytes = shape.shared;
  made->name = launched.name();
  if (c.m.recorded.arguments()) {
    const auto& parameters = launched.parameters();
    made->arguments =
        parameters ? spell_arguments(c, *parameters, gather(*parameters, arguments)) : "unknown";
  }
  return made;
}

// What a device that faults answers from then on. Called without the lock.
void lose(int index, cudaError_t error) {
  machine& m = the_machine();
  const std::lock_guard lock(m.mutex);
  cudaError_t& lost = m.devices[std::size_t(index)]->lost;
  if (lost == cudaSuccess) lost = error;
}

// The body, with the memory that its parameters name.
task make_task(call& c, const kernel& launched, const kernel_shape& shape, void** arguments,
               int device) {
  task what;
  what.kind = work_kind::kernel;
  what.keeps = launched.uses.lock();
  if (launched.body == nullptr) return what;
  if (!launched.parameters()) {
    throw refusal(cudaErrorInvalidValue, launched.name() + ": its parameters are not known");
  }
  auto values = gather(*launched.parameters(), arguments);
  // What the host can use of the memory that a parameter names.
  for_each_word(*launched.parameters(), values.data(),
                [&](std::size_t, std::size_t at, uintptr_t word) {
                  const block_ptr found = c.m.blocks.find(word);
                  if (found == nullptr) return;
                  const std::byte* const seen = found->at(word);
                  std::memcpy(values.data() + at, &seen, sizeof(seen));
                  if (std::find(what.uses.begin(), what.uses.end(), found) == what.uses.end()) {
                    what.uses.push_back(found);
                  }
                });
  // Each launch of a graph begins with the same values.
  what.body = [body = launched.body, shape, values = std::move(values), device] {
    auto copy = values;
    if (const cudaError_t error = body(shape, copy.data())) lose(device, error);
  };
  return what;
}

// Work that does nothing need not be done, where nobody could tell: it would wait for what the
// stream waits for, as all that follows does.
bool has_effect(call& c, const task& what, const stream& on) {
  return what.body != nullptr || on.captured != nullptr || c.m.runs.adversarial() ||
         !c.m.faults.empty();
}

void add(call& c, task what, stream& on) {
  check_capture(c, on);
  if (has_effect(c, what, on)) {
    enqueue(c, on, std::move(what));
  } else if (what.told != nullptr) {
    c.m.recorded.add(*what.told, "now", on.device, on.number);
  }
}

}  // namespace

kernel& find_kernel(call& c, const void* host) {
  kernel* const found = c.m.kernels.find(host);
  if (found == nullptr) {
    throw refusal(cudaErrorInvalidDeviceFunction,
                  fmt::format("{} is no kernel of a library that is loaded", host));
  }
  return *found;
}

void allow_shared(call& c, kernel& changed, const device& on, int bytes) {
  require(bytes >= 0 && bytes <= attribute(c.m, on, cudaDevAttrMaxSharedMemoryPerBlockOptin),
          "more shared memory than a block can have");
  changed.dynamic_shared = bytes;
}

unsigned threads_of_a_block(call& c, const kernel& of, const device& on) {
  if (of.max_threads != 0) return of.max_threads;
  return unsigned(attribute(c.m, on, cudaDevAttrMaxThreadsPerBlock));
}

int blocks_that_fit(call& c, const device& on, int block_size, std::size_t shared) {
  require(block_size > 0, "a block without threads");
  const auto limit = [&](cudaDeviceAttr which) { return attribute(c.m, on, which); };
  if (block_size > limit(cudaDevAttrMaxThreadsPerBlock)) return 0;
  const int fit = std::min(limit(cudaDevAttrMaxBlocksPerMultiprocessor),
                           limit(cudaDevAttrMaxThreadsPerMultiProcessor) / block_size);
  if (shared == 0) return fit;
  const auto all = std::size_t(limit(cudaDevAttrMaxSharedMemoryPerMultiprocessor));
  const auto kept = std::size_t(limit(cudaDevAttrReservedSharedMemoryPerBlock));
  return std::min(fit, int(all / (shared + kept)));
}

void launch(call& c, const kernel& launched, const kernel_shape& shape, void** arguments,
            stream& on) {
  if (launched.unloaded) {
    throw misuse(cudaErrorInvalidResourceHandle, launched.name() + ": its module was unloaded");
  }
  check_shape(c, launched, shape, *c.m.devices[std::size_t(on.device)]);
  task what = make_task(c, launched, shape, arguments, on.device);
  if (c.m.recorded.on() || on.captured != nullptr) {
    what.told = make_note(c, launched, shape, arguments);
  }
  add(c, std::move(what), on);
}

void add_call(call& c, const char* name, std::string arguments, stream& on,
              std::function<void()> body) {
  task what;
  what.kind = body ? work_kind::wait : work_kind::kernel;
  what.body = std::move(body);
  if (c.m.recorded.on() || on.captured != nullptr) {
    what.told = std::make_shared<note>(note{.what = "call",
                                            .dimensions = "\t",
                                            .bytes = 0,
                                            .name = name,
                                            .arguments = std::move(arguments)});
  }
  add(c, std::move(what), on);
}

}  // namespace fake_cuda
