#include "tests/fakes/cudart/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "tests/fakes/cudart/settings.hpp"

namespace fake_cuda {
namespace {

constexpr std::array<std::string_view, 5> kinds = {"kernel", "copy", "fill", "call", "arguments"};
constexpr unsigned arguments_bit = 1u << 4;

// The bit of that kind; 0: there is none.
unsigned bit(std::string_view kind) {
  const auto found = std::find(kinds.begin(), kinds.end(), kind);
  return found == kinds.end() ? 0 : 1u << (found - kinds.begin());
}

}  // namespace

bool work_record::start(const std::string& given) {
  unsigned chosen = 0;
  for (const std::string& each : split(given)) {
    if (bit(each) == 0) return false;
    chosen |= bit(each);
  }
  if (chosen == 0) chosen = ~0u;
  arguments_ = (chosen & arguments_bit) != 0;
  kinds_ = chosen & ~arguments_bit;
  return true;
}

void work_record::clear() {
  lines_.clear();
}

bool work_record::keep_in(const char* path) {
  file_ = std::fopen(path, "wxe");
  if (file_ == nullptr) return errno == EEXIST;
  std::setvbuf(file_, nullptr, _IOLBF, 0);
  return true;
}

void work_record::add(const note& told, const char* when, int device, int stream) {
  if ((kinds_ & bit(told.what)) == 0) return;
  lines_.push_back(fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}", told.what, when, device, stream,
                               told.dimensions, told.bytes, told.name,
                               arguments_ ? told.arguments : ""));
  if (file_ != nullptr) std::fprintf(file_, "%s\n", lines_.back().c_str());
}

std::string spell_address(const block_table& blocks, uintptr_t address) {
  const block_ptr found = blocks.find(address);
  if (found == nullptr) return "host";
  const uintptr_t offset = address - found->begin;
  if (found->on_host()) return fmt::format("pinned:{}+{}", found->ordinal, offset);
  return fmt::format("{}:{}+{}", found->device, found->ordinal, offset);
}

}  // namespace fake_cuda
