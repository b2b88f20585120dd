// The record of a program's work: one line for each kernel, copy, fill and call, in the order in
// which the program asked for them. Guarded by the machine's lock.
#pragma once

#include <cstdint>
#include <cstdio>
#include <deque>
#include <string>

#include "tests/fakes/cudart/block.hpp"
#include "tests/fakes/cudart/note.hpp"

namespace fake_cuda {

class work_record {
 public:
  /// Kinds of notes between commas ("kernel", "copy", "fill", "call"), and "arguments" for the
  /// addresses in what these get. Empty: all of it. False where there is no such kind.
  bool start(const std::string& kinds);
  void stop() { kinds_ = 0; }
  void clear();
  /// Every line from now on goes to a new file of that name, too. Where there is one, it is another
  /// process's, and stays as it is. False where it cannot be made.
  bool keep_in(const char* path);

  bool on() const { return kinds_ != 0; }
  bool arguments() const { return arguments_; }
  /// `when`: "now", "captured" in a graph, or "replayed" from one.
  void add(const note& told, const char* when, int device, int stream);
  const std::deque<std::string>& lines() const { return lines_; }

 private:
  unsigned kinds_ = 0;
  bool arguments_ = false;
  std::deque<std::string> lines_;
  std::FILE* file_ = nullptr;
};

/// An address as it is in every run of a program: the device, which of its allocations, the offset
/// in it. "host" where it is in none.
std::string spell_address(const block_table& blocks, uintptr_t address);

}  // namespace fake_cuda
