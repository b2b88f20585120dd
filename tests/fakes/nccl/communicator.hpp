// A communicator of NCCL's: the ranks that it connects, and how it ends.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/fakes/nccl/mesh.hpp"
#include "tests/fakes/nccl/nccl_api.hpp"

namespace fake_nccl {

/// An operation that ncclRedOpCreatePreMulSum has made.
struct multiplied_sum {
  dtype of;
  double factor;
  const void* factor_on_device;  // null: it is `factor`
};

/// Thread-safe. Work on a stream holds it, so it may outlive its handle.
class communicator {
 public:
  /// Waits for the other ranks. Throws std::runtime_error.
  communicator(std::string name, int rank, int size, int device);

  int rank() const { return data_.rank(); }
  int size() const { return data_.size(); }
  int device() const { return device_; }

  /// Exchanges messages for a piece of work, one piece after the other. False if it failed: then
  /// the communicator has an error, and work ends only when somebody aborts it, as a kernel that
  /// waits for a peer would.
  bool exchange(const std::vector<message>& sent, std::vector<message>& received);
  /// The communicator has that error from now on; returns when it is aborted.
  void fail(result error, const std::string& why);
  void abort();
  result error() const { return error_; }
  std::string error_text() const;

  /// Makes the communicator of those ranks that gave the same color, in the order of their keys.
  /// All ranks call it. Null for a negative color.
  std::unique_ptr<communicator> split(int color, int key);
  /// Makes one of all other ranks, which alone call it.
  std::unique_ptr<communicator> without(const std::vector<int>& excluded);

  /// Each stream that the communicator works on waits for what it has done on others: this event
  /// of CUDA's is recorded behind its latest work. Null before.
  void* latest_work = nullptr;
  std::mutex enqueueing;

  std::vector<multiplied_sum> reductions;  // guarded by `enqueueing`

 private:
  const std::string name_;
  const int device_;
  mesh data_, control_;  // what calls agree on goes another way than what streams do
  std::mutex exchanging_;
  int children_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<result> error_{success};
  std::string error_text_;
  bool aborted_ = false;
};
using communicator_ptr = std::shared_ptr<communicator>;

/// What went wrong in the latest call of this thread.
std::string& last_error();

}  // namespace fake_nccl
