#include "backend_template/layers/call.hpp"

#include <cstring>

namespace outback::layers {

std::set<int32_t> devices_of(const any_call& call) {
  std::set<int32_t> all;
  for_each_argument(call, [&](const parameter& p, word value) {
    const bool names_one = p.is == role::device || p.is == role::side;
    if (names_one && value.device() != OUTBACK_HOST) all.insert(value.device());
  });
  return all;
}

int32_t stream_device(const any_call& call) {
  // The first `device` counts, so that a peer, which comes second, does not. The last `side` that
  // is no host counts: mem_copy names the destination first and the source second.
  int32_t found = OUTBACK_HOST;
  for_each_argument(call, [&](const parameter& p, word value) {
    if (p.is == role::device && found == OUTBACK_HOST) found = value.device();
    if (p.is == role::side && value.device() != OUTBACK_HOST) found = value.device();
  });
  return found;
}

word word_at(const void* place, const parameter& p) {
  const auto copied = [&](auto value) {
    std::memcpy(&value, place, sizeof(value));
    return word(value);
  };
  // Read with the type's own size and sign, so that a negative number stays one in a trace.
  const void* address = nullptr;
  if (p.type == form::address) return copied(address);
  if (p.size == sizeof(uint64_t)) return copied(uint64_t{0});
  return p.type == form::integer ? copied(int32_t{0}) : copied(uint32_t{0});
}

}  // namespace outback::layers
