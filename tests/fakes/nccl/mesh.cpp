#include "tests/fakes/nccl/mesh.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <utility>

namespace fake_nccl {
namespace {

using clock = std::chrono::steady_clock;
constexpr auto patience = std::chrono::seconds(60);

[[noreturn]] void throw_errno(const char* what) {
  throw std::runtime_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

int new_socket() {
  const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (made < 0) throw_errno("socket");
  return made;
}

// In the abstract namespace, so that no file stays behind.
sockaddr_un address_of(const std::string& name, int rank, socklen_t& size) {
  sockaddr_un made = {};
  made.sun_family = AF_UNIX;
  const std::string path = fmt::format("fake-nccl-{}-{}", name, rank);
  if (path.size() + 1 > sizeof(made.sun_path)) throw std::runtime_error("the name is too long");
  std::memcpy(made.sun_path + 1, path.data(), path.size());
  size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + path.size());
  return made;
}

void expect_whole(ssize_t moved, const char* what) {
  if (moved != sizeof(std::int32_t)) throw_errno(what);
}

// A message on the wire: the two sizes, what it is, and its bytes.
void write_message(mesh::bytes_on_the_way& to, const message& given) {
  const std::uint64_t sizes[] = {given.what.size(), given.bytes.size()};
  to.add(sizes, sizeof(sizes));
  to.add(given.what.data(), given.what.size());
  to.add(given.bytes.data(), given.bytes.size());
}

// Reads one at the position, if all of it is there. Returns what is wrong with it.
std::string read_message(mesh::bytes_on_the_way& from, message& expected, bool& is_there) {
  std::uint64_t sizes[2];
  is_there = from.left() >= sizeof(sizes);
  if (!is_there) return {};
  std::memcpy(sizes, from.bytes.data() + from.done, sizeof(sizes));
  is_there = from.left() - sizeof(sizes) >= sizes[0];
  if (!is_there) return {};
  const auto* begin = reinterpret_cast<const char*>(from.bytes.data() + from.done + sizeof(sizes));
  const std::string what(begin, sizes[0]);
  if (what != expected.what || sizes[1] != expected.bytes.size()) {
    return fmt::format("this rank expects {} of {} bytes, and rank {} sends {} of {}",
                       expected.what, expected.bytes.size(), expected.peer, what, sizes[1]);
  }
  is_there = from.left() - sizeof(sizes) - sizes[0] >= sizes[1];
  if (!is_there) return {};
  std::memcpy(expected.bytes.data(), begin + sizes[0], sizes[1]);
  from.done += sizeof(sizes) + sizes[0] + sizes[1];
  return {};
}

}  // namespace

void mesh::bytes_on_the_way::add(const void* from, std::size_t size) {
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(std::exchange(done, 0)));
  const auto* const begin = static_cast<const std::byte*>(from);
  bytes.insert(bytes.end(), begin, begin + size);
}

mesh::mesh(const std::string& name, int rank, int size)
    : rank_(rank), sockets_(static_cast<std::size_t>(size), -1), arrived_(sockets_.size()) {
  interrupts_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (interrupts_ < 0) throw_errno("eventfd");
  socklen_t length = 0;
  const int listens = new_socket();
  sockaddr_un here = address_of(name, rank, length);
  if (bind(listens, reinterpret_cast<sockaddr*>(&here), length) != 0) throw_errno("bind");
  if (listen(listens, size) != 0) throw_errno("listen");
  const auto deadline = clock::now() + patience;
  for (int peer = 0; peer < rank; ++peer) {
    const int made = new_socket();
    sockaddr_un there = address_of(name, peer, length);
    while (connect(made, reinterpret_cast<sockaddr*>(&there), length) != 0) {
      if (clock::now() > deadline) throw_errno(fmt::format("rank {} did not come", peer).c_str());
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    const std::int32_t told = rank;
    expect_whole(write(made, &told, sizeof(told)), "write");
    sockets_[static_cast<std::size_t>(peer)] = made;
  }
  for (int more = rank + 1; more < size; ++more) {
    pollfd waits = {.fd = listens, .events = POLLIN, .revents = 0};
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - clock::now());
    if (poll(&waits, 1, std::max(0, static_cast<int>(left.count()))) != 1) {
      throw std::runtime_error("a rank did not come");
    }
    const int made = accept4(listens, nullptr, nullptr, SOCK_CLOEXEC);
    if (made < 0) throw_errno("accept");
    std::int32_t peer = -1;
    expect_whole(recv(made, &peer, sizeof(peer), MSG_WAITALL), "read");
    sockets_.at(static_cast<std::size_t>(peer)) = made;
  }
  close(listens);
}

mesh::~mesh() {
  for (const int each : sockets_) {
    if (each >= 0) close(each);
  }
  close(interrupts_);
}

void mesh::interrupt() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(interrupts_, &one, sizeof(one));
}

std::string mesh::exchange(const std::vector<message>& sent, std::vector<message>& received) {
  const std::size_t ranks = sockets_.size();
  std::vector<bytes_on_the_way> out(ranks);
  std::vector<std::vector<message*>> expected(ranks);
  for (const message& each : sent) {
    write_message(out[static_cast<std::size_t>(each.peer)], each);
  }
  for (message& each : received) expected[static_cast<std::size_t>(each.peer)].push_back(&each);
  // What a rank sends to itself arrives at once.
  arrived_[static_cast<std::size_t>(rank_)] =
      std::exchange(out[static_cast<std::size_t>(rank_)], {});
  std::vector<std::byte> block(1 << 20);
  for (;;) {
    std::vector<pollfd> waits = {{.fd = interrupts_, .events = POLLIN, .revents = 0}};
    std::vector<std::size_t> peers = {ranks};
    for (std::size_t peer = 0; peer < ranks; ++peer) {
      bool is_there = true;
      while (!expected[peer].empty() && is_there) {
        const std::string wrong = read_message(arrived_[peer], *expected[peer].front(), is_there);
        if (!wrong.empty()) return wrong;
        if (is_there) expected[peer].erase(expected[peer].begin());
      }
      const int events =
          (out[peer].is_over() ? 0 : POLLOUT) | (expected[peer].empty() ? 0 : POLLIN);
      if (events == 0) continue;
      if (sockets_[peer] < 0) return "this rank receives more from itself than it sends";
      waits.push_back({.fd = sockets_[peer], .events = static_cast<short>(events), .revents = 0});
      peers.push_back(peer);
    }
    if (waits.size() == 1) break;
    if (poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) return std::strerror(errno);
    if (waits[0].revents != 0) return "it was aborted";
    for (std::size_t i = 1; i < waits.size(); ++i) {
      const int socket = waits[i].fd;
      bytes_on_the_way& from = out[peers[i]];
      if ((waits[i].revents & (POLLOUT | POLLHUP | POLLERR)) != 0 && !from.is_over()) {
        const ssize_t moved =
            send(socket, from.bytes.data() + from.done, from.left(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (moved < 0 && errno != EAGAIN) return fmt::format("rank {} is gone", peers[i]);
        if (moved > 0) from.done += static_cast<std::size_t>(moved);
      }
      if ((waits[i].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !expected[peers[i]].empty()) {
        const ssize_t moved = recv(socket, block.data(), block.size(), MSG_DONTWAIT);
        if (moved == 0 || (moved < 0 && errno != EAGAIN)) {
          return fmt::format("rank {} is gone", peers[i]);
        }
        if (moved > 0) arrived_[peers[i]].add(block.data(), static_cast<std::size_t>(moved));
      }
    }
  }
  return {};
}

}  // namespace fake_nccl
