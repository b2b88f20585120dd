#include "backend_template/layers/outputs.hpp"

#include <cstring>
#include <string>

#include "outback/runtime_error.hpp"

namespace outback::layers {
namespace {

constexpr std::size_t beyond = 64;  // bytes behind each copy in which an overrun shows
constexpr int filler = 0xa5;  // what a copy holds before the call: a value that slots hardly write

// Returns the size of the caller's output in bytes. Throws if it is null or has no struct_size.
std::size_t size_of_target(const char* slot, const parameter& p, const void* target) {
  if (target == nullptr) {
    throw invalid_argument("validation: " + std::string(slot) + ": " + p.name +
                           " is null: expected a place for the result");
  }
  if (!p.has_struct_size()) return p.size;
  // No struct of any version is larger. A member that the caller forgot to set often is.
  constexpr uint32_t most = 1u << 16;
  uint32_t size = 0;
  std::memcpy(&size, target, sizeof(size));
  if (size >= sizeof(size) && size <= most) return size;
  throw invalid_argument("validation: " + std::string(slot) + ": " + p.name + "->struct_size is " +
                         std::to_string(size) + ": expected the size of the caller's struct");
}

}  // namespace

own_output::own_output(const char* slot, const parameter& p, void* target)
    : is_(&p),
      target_(target),
      size_(size_of_target(slot, p, target)),
      bytes_(new std::byte[2 * (size_ + beyond)]) {
  std::memset(bytes_.get(), filler, 2 * (size_ + beyond));
  if (!p.has_struct_size()) return;
  // A struct begins with the caller's content: an older runtime leaves members that it does not
  // know as they are, and struct_size is an input.
  std::memcpy(bytes_.get(), target, size_);
  std::memcpy(bytes_.get() + size_ + beyond, target, size_);
}

bool own_output::written() const {
  return differs(0, size_ + beyond);
}

bool own_output::untouched() const {
  return !is_->has_struct_size() && !differs(0, size_);
}

bool own_output::overrun() const {
  return differs(size_, beyond) || (is_->has_struct_size() && differs(0, sizeof(uint32_t)));
}

void own_output::commit() const {
  std::memcpy(target_, bytes_.get(), size_);
}

bool own_output::differs(std::size_t begin, std::size_t size) const {
  const std::byte* now = bytes_.get() + begin;
  return std::memcmp(now, now + size_ + beyond, size) != 0;
}

std::vector<own_output> outputs_of(const any_call& call) {
  std::vector<own_output> all;
  for_each_argument(call, [&](const parameter& p, word value) {
    // `word` keeps addresses as const; an output's was not.
    if (is_output(p.is)) all.emplace_back(call.slot.name, p, const_cast<void*>(value.address()));
  });
  return all;
}

}  // namespace outback::layers
