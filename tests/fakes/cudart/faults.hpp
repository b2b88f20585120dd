// Errors that a test has asked for. Guarded by the machine's lock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fake_cuda {

class faults {
 public:
  /// The `nth` call of `name` from now on fails (0: all of them).
  void add(const std::string& name, int nth, int error);
  /// "cudaMalloc:3=2,@copy=700": false if it is malformed.
  bool parse(const std::string& text);
  void clear() { planned_.clear(); }

  /// Counts a call of `name`, and answers the error that it is to have.
  std::optional<int> next(std::string_view name);
  uint64_t calls(std::string_view name) const;
  bool empty() const { return planned_.empty(); }
  /// For those who check them.
  std::vector<std::string> names() const;

 private:
  struct plan {
    std::string name;
    int remaining;  // calls until it fails; 0: every one does
    int error;
  };
  std::vector<plan> planned_;
  std::map<std::string, uint64_t, std::less<>> calls_;
};

}  // namespace fake_cuda
