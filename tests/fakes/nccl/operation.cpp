#include "tests/fakes/nccl/operation.hpp"

#include <fmt/format.h>

#include <utility>

#include "tests/fakes/cudart/fake_cudart.h"
#include "tests/fakes/nccl/numbers.hpp"

namespace fake_nccl {
namespace {

using bytes = std::vector<std::byte>;

bool reduces(kind what) {
  return what == kind::all_reduce || what == kind::reduce || what == kind::reduce_scatter;
}

// An operation under way: its part of the messages that are received.
struct pending {
  operation what;
  std::size_t first = 0, count = 0;
  bytes own;  // what this rank has put in
};

class plan {
 public:
  plan(communicator& on, const std::vector<operation>& all) : on_(on) {
    for (const operation& each : all) add(each);
  }

  void run() {
    if (!wrong_.empty()) return on_.fail(unhandled_cuda_error, wrong_);
    if (!on_.exchange(sent_, received_)) return;
    for (const pending& each : pending_) finish(each);
    if (!wrong_.empty()) on_.fail(unhandled_cuda_error, wrong_);
  }

 private:
  void add(const operation& what) {
    const int ranks = on_.size();
    const std::size_t part = what.count * size_of(what.of);
    const bool divides = what.what == kind::reduce_scatter || what.what == kind::all_to_all ||
                         what.what == kind::scatter;
    const bool is_root = on_.rank() == what.peer;
    pending made = {.what = what, .first = received_.size(), .count = 0, .own = {}};
    const bool rooted_out = what.what == kind::broadcast || what.what == kind::scatter;
    const bool rooted_in = what.what == kind::reduce || what.what == kind::gather;
    if (what.what != kind::receive && (!rooted_out || is_root)) {
      made.own = read(what.from, divides ? part * static_cast<std::size_t>(ranks) : part);
    }
    for (int rank = 0; rank < ranks; ++rank) {
      const bool sends = what.what == kind::send      ? rank == what.peer
                         : what.what == kind::receive ? false
                         : rooted_out                 ? is_root
                         : rooted_in                  ? rank == what.peer
                                                      : true;
      const bool receives = what.what == kind::receive ? rank == what.peer
                            : what.what == kind::send  ? false
                            : rooted_out               ? rank == what.peer
                            : rooted_in                ? is_root
                                                       : true;
      const auto offset =
          static_cast<std::ptrdiff_t>(divides ? part * static_cast<std::size_t>(rank) : 0);
      if (sends && wrong_.empty()) {
        const auto begin = made.own.begin() + offset;
        sent_.push_back(
            {rank, what.text(), bytes(begin, begin + static_cast<std::ptrdiff_t>(part))});
      }
      if (receives) received_.push_back({rank, what.text(), bytes(part)});
    }
    made.count = received_.size() - made.first;
    pending_.push_back(std::move(made));
  }

  void finish(const pending& done) {
    const operation& what = done.what;
    if (done.count == 0) return;
    if (!reduces(what.what)) {
      bytes all;
      for (std::size_t i = 0; i < done.count; ++i) {
        const bytes& part = received_[done.first + i].bytes;
        all.insert(all.end(), part.begin(), part.end());
      }
      return write(what.to, all);
    }
    std::vector<const std::byte*> parts;
    for (std::size_t i = 0; i < done.count; ++i) {
      parts.push_back(received_[done.first + i].bytes.data());
    }
    // All ranks have the same factor, as PyTorch has it.
    const std::vector<double> factors(parts.size(), what.how < built_in ? 1 : factor_of(what));
    bytes result(what.count * size_of(what.of));
    reduce(what.of, what.how, parts, what.count, what.how < built_in ? nullptr : factors.data(),
           result.data());
    write(what.to, result);
  }

  double factor_of(const operation& what) {
    if (what.factor.factor_on_device == nullptr) return what.factor.factor;
    return read_number(what.of, read(what.factor.factor_on_device, size_of(what.of)).data());
  }

  bytes read(const void* from, std::size_t size) {
    bytes made(size);
    if (size > 0 && fake_cudart_peek(made.data(), from, size) != 0) {
      wrong_ = fmt::format("{} bytes at {} are no memory of the device", size, from);
    }
    return made;
  }

  void write(void* to, const bytes& from) {
    if (!from.empty() && fake_cudart_poke(to, from.data(), from.size()) != 0) {
      wrong_ = fmt::format("{} bytes at {} are no memory of the device", from.size(), to);
    }
  }

  communicator& on_;
  std::vector<message> sent_, received_;
  std::vector<pending> pending_;
  std::string wrong_;
};

}  // namespace

std::string operation::text() const {
  static constexpr const char* names[] = {"AllReduce",     "Reduce",   "Broadcast", "AllGather",
                                          "ReduceScatter", "AlltoAll", "Gather",    "Scatter"};
  // Both ends of it read the same.
  if (what == kind::send || what == kind::receive) {
    return fmt::format("ncclSend({} {})", count, name_of(of));
  }
  const char* const name = names[static_cast<int>(what)];
  const bool has_root = what == kind::reduce || what == kind::broadcast || what == kind::gather ||
                        what == kind::scatter;
  return fmt::format("nccl{}({} {}{}{}{})", name, count, name_of(of), reduces(what) ? " " : "",
                     reduces(what) ? name_of(how) : "",
                     has_root ? fmt::format(" root {}", peer) : "");
}

void run(communicator& on, const std::vector<operation>& all) {
  plan(on, all).run();
}

}  // namespace fake_nccl
