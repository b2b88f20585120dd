#include "tests/fakes/cudart/copy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "tests/fakes/cudart/memory.hpp"

namespace fake_cuda {
namespace {

void check_kind(cudaMemcpyKind kind, const place& to, const place& from) {
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (kind == cudaMemcpyDefault) return;
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) {
    throw refusal(cudaErrorInvalidMemcpyDirection, fmt::format("{} is no kind of copy", int(kind)));
  }
  // Pinned memory is a device's as much as the host's.
  const auto fits = [](bool device, const place& at) {
    return device ? !at.pageable() : !at.on_device();
  };
  if (!fits(to_device, to) || !fits(from_device, from)) {
    throw refusal(cudaErrorInvalidValue, "the kind of copy is not what the pointers are");
  }
}

std::vector<block_ptr> used(const place& to, const place& from) {
  std::vector<block_ptr> all;
  if (to.where) all.push_back(to.where);
  if (from.where && from.where != to.where) all.push_back(from.where);
  return all;
}

bool is_noted(call& c, const stream& on) {
  return c.m.recorded.on() || on.captured != nullptr;
}

const char* side(const place& at) {
  return at.pageable() ? "pageable" : at.on_device() ? "device" : "pinned";
}

note_ptr note_of_copy(call& c, const stream& on, const void* to, const place& target,
                      const void* from, const place& source, std::size_t size) {
  if (!is_noted(c, on)) return nullptr;
  const auto spell = [&](const void* address) {
    return spell_address(c.m.blocks, reinterpret_cast<uintptr_t>(address));
  };
  return std::make_shared<note>(
      note{.what = "copy",
           .dimensions = "\t",
           .bytes = size,
           .name = fmt::format("{} to {}", side(source), side(target)),
           .arguments = fmt::format("to={} from={}", spell(to), spell(from))});
}

note_ptr note_of_fill(call& c, const stream& on, const void* to, fill_pattern with,
                      std::size_t count) {
  if (!is_noted(c, on)) return nullptr;
  return std::make_shared<note>(
      note{.what = "fill",
           .dimensions = "\t",
           .bytes = with.size * count,
           .name = fmt::format("{:#x}", with.value),
           .arguments = "to=" + spell_address(c.m.blocks, reinterpret_cast<uintptr_t>(to))});
}

// The row is aligned to the pattern.
void fill_row(std::byte* row, fill_pattern with, std::size_t width) {
  switch (with.size) {
    case 1:
      std::memset(row, int(with.value), width);
      break;
    case 2:
      std::fill_n(reinterpret_cast<uint16_t*>(row), width, uint16_t(with.value));
      break;
    default:
      std::fill_n(reinterpret_cast<uint32_t*>(row), width, with.value);
  }
}

}  // namespace

void synchronize(call& c, stream& awaited) {
  for (const work_ptr& each : outstanding(c.m, awaited)) {
    if (awaited.legacy || each == awaited.last) c.m.wait_for(c.lock, each);
  }
  c.m.check_alive(*c.m.devices[std::size_t(awaited.device)]);
}

void copy(call& c, void* to, const void* from, std::size_t size, cudaMemcpyKind kind, stream& on) {
  check_capture(c, on);
  if (size == 0) return;
  const place target = locate(c.m, to, size), source = locate(c.m, from, size);
  check_kind(kind, target, source);
  task what = {.kind = work_kind::copy,
               .body = nullptr,
               .uses = used(target, source),
               .told = note_of_copy(c, on, to, target, from, source, size)};
  const auto move_bytes = [to = target.bytes, from = source.bytes, size] {
    std::memmove(to, from, size);
  };
  const bool captured = on.captured != nullptr;  // then the graph reads it, in each launch
  if (source.pageable() && target.on_device() && !captured) {
    auto staged = std::make_shared<std::vector<std::byte>>(source.bytes, source.bytes + size);
    what.body = [to = target.bytes, staged] { std::memcpy(to, staged->data(), staged->size()); };
    enqueue(c, on, std::move(what));
    return;
  }
  what.body = move_bytes;
  const work_ptr enqueued = enqueue(c, on, std::move(what));
  if (target.pageable() || (!target.on_device() && !source.on_device())) {
    c.m.wait_for(c.lock, enqueued);
    c.m.check_alive(*c.m.devices[std::size_t(on.device)]);
  }
}

void copy_rows(call& c, void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
               std::size_t width, std::size_t height, cudaMemcpyKind kind, stream& on) {
  require(width <= to_pitch && width <= from_pitch, "rows that are longer than their pitch");
  check_capture(c, on);
  if (width == 0 || height == 0) return;
  const place target = locate(c.m, to, to_pitch * (height - 1) + width);
  const place source = locate(c.m, from, from_pitch * (height - 1) + width);
  check_kind(kind, target, source);
  task what = {.kind = work_kind::copy,
               .body = nullptr,
               .uses = used(target, source),
               .told = note_of_copy(c, on, to, target, from, source, width * height)};
  what.body = [=, to = target.bytes, from = source.bytes] {
    for (std::size_t y = 0; y < height; ++y) {
      std::memmove(to + y * to_pitch, from + y * from_pitch, width);
    }
  };
  const work_ptr enqueued = enqueue(c, on, std::move(what));
  // A copy to or from pageable memory is done when the call returns, which is allowed to it.
  if (target.pageable() || source.pageable() || (!target.on_device() && !source.on_device())) {
    c.m.wait_for(c.lock, enqueued);
    c.m.check_alive(*c.m.devices[std::size_t(on.device)]);
  }
}

void copy_between(call& c, void* to, int to_device, const void* from, int from_device,
                  std::size_t size, stream& on) {
  c.m.device_at(to_device);
  c.m.device_at(from_device);
  check_capture(c, on);
  if (size == 0) return;
  const place target = locate(c.m, to, size), source = locate(c.m, from, size);
  const auto of = [](const place& at, int device) {
    return at.on_device() && at.where->device == device;
  };
  require(of(target, to_device), "the destination is not memory of its device");
  require(of(source, from_device), "the source is not memory of its device");
  enqueue(c, on,
          {.kind = work_kind::copy,
           .body = [to = target.bytes, from = source.bytes, size] { std::memmove(to, from, size); },
           .uses = used(target, source),
           .told = note_of_copy(c, on, to, target, from, source, size)});
}

void fill(call& c, void* to, std::size_t pitch, fill_pattern with, std::size_t width,
          std::size_t height, stream& on) {
  check_capture(c, on);
  if (width == 0 || height == 0) return;
  const std::size_t row = width * with.size;
  require(height == 1 || pitch >= row, "rows that are longer than their pitch");
  require(height == 1 || pitch % with.size == 0, "a pitch that is no multiple of the pattern");
  require(reinterpret_cast<uintptr_t>(to) % with.size == 0, "memory not aligned to the pattern");
  const place target = locate_known(c.m, to, pitch * (height - 1) + row);
  if (target.on_device() && target.where->device != on.device) {
    throw refusal(cudaErrorInvalidValue,
                  fmt::format("memory of device {}, on a stream of device {}", target.where->device,
                              on.device));
  }
  enqueue(c, on,
          {.kind = work_kind::fill,
           .body =
               [at = target.bytes, pitch, with, width, height] {
                 for (std::size_t y = 0; y < height; ++y) fill_row(at + y * pitch, with, width);
               },
           .uses = {target.where},
           .told = note_of_fill(c, on, to, with, width * height)});
}

}  // namespace fake_cuda
