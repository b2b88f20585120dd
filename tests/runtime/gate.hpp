// Stops a stream of the host runtime until it is told to go on, so that a test need not rely on
// slow work.
#pragma once

#include <future>

#include "backend_template/runtimes/host/stream.hpp"
#include "outback/runtime.h"

namespace outback::host {

class gate {
 public:
  gate() = default;
  ~gate() { open(); }
  gate(const gate&) = delete;
  gate& operator=(const gate&) = delete;

  /// Everything enqueued on `s` after this call waits for `open`. Not for a null stream.
  void close(outback_stream s) {
    reinterpret_cast<stream*>(s)->queue().enqueue([opened = opened_] { opened.wait(); });
  }

  void open() {
    if (!is_open_) open_.set_value();
    is_open_ = true;
  }

 private:
  std::promise<void> open_;
  const std::shared_future<void> opened_ = open_.get_future().share();
  bool is_open_ = false;
};

}  // namespace outback::host
