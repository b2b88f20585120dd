#include "tests/runtime/suite/programs/model.hpp"

#include <algorithm>
#include <cstring>

#include "tests/runtime/suite/programs/order.hpp"

namespace outback::suite {

void write_fill(std::byte* to, const operation& fill) {
  std::byte word[8];
  for (std::size_t i = 0; i < sizeof(word); i += fill.width) {
    std::memcpy(word + i, &fill.value, fill.width);
  }
  for (std::size_t i = 0; i < fill.size; i += sizeof(word)) {
    std::memcpy(to + i, word, std::min(sizeof(word), fill.size - i));
  }
}

void write_noise(std::byte* to, const operation& write) {
  random values(write.value);
  for (std::size_t i = 0; i < write.size; i += sizeof(uint64_t)) {
    const uint64_t word = values.next();
    std::memcpy(to + i, &word, std::min(sizeof(word), write.size - i));
  }
}

std::vector<answer> predict(const program& p) {
  std::vector<answer> answers(p.operations.size());
  std::map<int32_t, std::vector<std::byte>> buffers;
  order so_far(p.on);
  for (std::size_t i = 0; i < p.operations.size(); ++i) {
    const operation& o = p.operations[i];
    switch (o.what) {
      case action::alloc:
        buffers[o.buffer].resize(o.size);
        break;
      case action::free:
        buffers.erase(o.buffer);
        break;
      case action::fill:
        write_fill(&buffers[o.buffer][o.offset], o);
        break;
      case action::callback:
      case action::host_write:
        write_noise(&buffers[o.buffer][o.offset], o);
        break;
      case action::copy:
        std::memcpy(&buffers[o.buffer][o.offset], &buffers[o.from][o.from_offset], o.size);
        break;
      case action::host_check:
      case action::read_back: {
        const std::byte* from = &buffers[o.buffer][o.offset];
        answers[i].content.assign(from, from + o.size);
        break;
      }
      case action::stream_query:
      case action::event_query:
        answers[i].ready = so_far.surely_ready(o);
        break;
      case action::event_elapsed:
        answers[i].forward = so_far.surely_forward(o);
        break;
      default:
        break;
    }
    so_far.apply(o);
  }
  return answers;
}

std::vector<operation> legal_part(const machine& on, const std::vector<operation>& operations) {
  std::vector<operation> legal;
  order so_far(on);
  for (const operation& o : operations) {
    if (!so_far.legal(o)) continue;
    so_far.apply(o);
    legal.push_back(o);
  }
  return legal;
}

}  // namespace outback::suite
