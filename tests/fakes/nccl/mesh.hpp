// Connections between the ranks of a communicator: a Unix socket for each pair of them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace fake_nccl {

/// A message to another rank, or from one. `what` is what the sender believes to do: the receiver
/// has to believe the same.
struct message {
  int peer = 0;
  std::string what;
  std::vector<std::byte> bytes;  // as many as are expected, for one that is received
};

/// Thread-safe, but for two exchanges at the same time.
class mesh {
 public:
  struct bytes_on_the_way {
    std::vector<std::byte> bytes;
    std::size_t done = 0;
    bool is_over() const { return done == bytes.size(); }
    std::size_t left() const { return bytes.size() - done; }
    void add(const void* from, std::size_t size);
  };

  /// Waits for the other ranks, a minute at most. `name` is the communicator's alone. Throws
  /// std::runtime_error.
  mesh(const std::string& name, int rank, int size);
  ~mesh();
  mesh(const mesh&) = delete;
  mesh& operator=(const mesh&) = delete;

  /// Sends and receives all of it at once; those with one peer in their order. Returns what was
  /// wrong, or nothing. After that the mesh is of no use.
  std::string exchange(const std::vector<message>& sent, std::vector<message>& received);
  /// Ends an exchange, in whatever thread it is.
  void interrupt();

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(sockets_.size()); }

 private:
  int rank_;
  std::vector<int> sockets_;               // -1 for the rank itself
  std::vector<bytes_on_the_way> arrived_;  // of each rank, beyond what an exchange has taken
  int interrupts_ = -1;                    // an eventfd
};

}  // namespace fake_nccl
