#include "tests/fakes/cudart/shared_event.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace fake_cuda {

std::shared_ptr<shared_event> shared_event::make() {
  const int file = memfd_create("fake-cuda-event", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, off_t(sizeof(page))) != 0) {
    if (file >= 0) close(file);
    return nullptr;
  }
  return map(file);
}

std::shared_ptr<shared_event> shared_event::open(int file) {
  const int own = fcntl(file, F_DUPFD_CLOEXEC, 0);
  if (own < 0) return nullptr;
  if (lseek(own, 0, SEEK_END) == off_t(sizeof(page))) return map(own);
  close(own);
  return nullptr;
}

std::shared_ptr<shared_event> shared_event::map(int file) {
  void* const mapped = mmap(nullptr, sizeof(page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) {
    close(file);
    return nullptr;
  }
  return std::shared_ptr<shared_event>(new shared_event(file, static_cast<page*>(mapped)));
}

shared_event::~shared_event() {
  munmap(page_, sizeof(page));
  close(file_);
}

void shared_event::finish(uint64_t record) {
  uint64_t before = page_->done.load(std::memory_order_relaxed);
  while (before < record &&
         !page_->done.compare_exchange_weak(before, record, std::memory_order_acq_rel)) {
  }
}

void shared_event::wait(uint64_t record) const {
  while (!done(record)) std::this_thread::sleep_for(std::chrono::microseconds(50));
}

}  // namespace fake_cuda
