#include "tests/fakes/nccl/communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace fake_nccl {

communicator::communicator(std::string name, int rank, int size, int device)
    : name_(std::move(name)),
      device_(device),
      data_(name_ + "-data", rank, size),
      control_(name_ + "-control", rank, size) {}

bool communicator::exchange(const std::vector<message>& sent, std::vector<message>& received) {
  std::string wrong;
  {
    const std::lock_guard lock(exchanging_);
    {
      const std::lock_guard too(mutex_);
      if (aborted_) return false;
    }
    wrong = data_.exchange(sent, received);
  }
  if (wrong.empty()) return true;
  fail(wrong.find("gone") != std::string::npos ? remote_error : invalid_usage, wrong);
  return false;
}

void communicator::fail(result error, const std::string& why) {
  std::unique_lock lock(mutex_);
  if (error_ == success && !aborted_) {
    std::fprintf(stderr, "fake nccl: rank %d of %d: %s\n", rank(), size(), why.c_str());
    error_text_ = why;
    error_ = error;
  }
  changed_.wait(lock, [this] { return aborted_; });
}

void communicator::abort() {
  {
    const std::lock_guard lock(mutex_);
    aborted_ = true;
  }
  changed_.notify_all();
  data_.interrupt();
}

std::string communicator::error_text() const {
  const std::lock_guard lock(mutex_);
  return error_text_;
}

std::unique_ptr<communicator> communicator::split(int color, int key) {
  const int made = ++children_;
  const int mine[] = {color, key};
  std::vector<message> sent, received;
  for (int peer = 0; peer < size(); ++peer) {
    const auto* const begin = reinterpret_cast<const std::byte*>(mine);
    sent.push_back({peer, "split", {begin, begin + sizeof(mine)}});
    received.push_back({peer, "split", std::vector<std::byte>(sizeof(mine))});
  }
  const std::string wrong = control_.exchange(sent, received);
  if (!wrong.empty()) throw std::runtime_error(wrong);
  if (color < 0) return nullptr;
  std::vector<std::pair<int, int>> members;  // key, rank
  for (int peer = 0; peer < size(); ++peer) {
    int theirs[2];
    std::memcpy(theirs, received[static_cast<std::size_t>(peer)].bytes.data(), sizeof(theirs));
    if (theirs[0] == color) members.emplace_back(theirs[1], peer);
  }
  std::sort(members.begin(), members.end());
  const auto here = std::find(members.begin(), members.end(), std::pair(key, rank()));
  return std::make_unique<communicator>(fmt::format("{}s{}c{}", name_, made, color),
                                        static_cast<int>(here - members.begin()),
                                        static_cast<int>(members.size()), device_);
}

std::unique_ptr<communicator> communicator::without(const std::vector<int>& excluded) {
  const int made = ++children_;
  int below = 0;
  for (const int each : excluded) below += each < rank();
  return std::make_unique<communicator>(fmt::format("{}w{}", name_, made), rank() - below,
                                        size() - static_cast<int>(excluded.size()), device_);
}

std::string& last_error() {
  thread_local std::string text;
  return text;
}

}  // namespace fake_nccl
