#include "backend_template/core/memory/shared_memory.h"

#include <c10/util/Exception.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/memory/copy.h"
#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/core/memory/ipc.h"
#include "backend_template/core/memory/storage.h"
#include "backend_template/core/runtime/descriptor.h"
#include "backend_template/core/runtime/interpreter_lock.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/core/twin/twin.h"

namespace outback::core {
namespace {

constexpr const char* shared_memory_is = "sharing memory with other processes";

// ---- Receipts

// What a receiver writes into its place in the sender's table: first its process's number.
using receipt = std::atomic<pid_t>;
static_assert(receipt::is_always_lock_free);
constexpr pid_t not_received = 0, done = -1;

constexpr size_t most_receipts = 65536;
constexpr size_t table_bytes = most_receipts * sizeof(receipt);

// Nobody can change the size of the table: a mapped page that vanishes ends who reads it.
constexpr int table_seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

// A table of another process may be any file.
void check_table(const descriptor& file) {
  struct stat found = {};
  TORCH_CHECK_VALUE(
      fstat(file.get(), &found) == 0 && S_ISREG(found.st_mode) &&
          found.st_size == static_cast<off_t>(table_bytes) &&
          (fcntl(file.get(), F_GET_SEALS) & table_seals) == table_seals &&
          (fcntl(file.get(), F_GETFL) & O_ACCMODE) == O_RDWR,
      "expected what an export of memory returned, got a message whose receipts are another file: "
      "they are ",
      table_bytes, " bytes, sealed, and can be written to");
}

receipt* map_table(const descriptor& file) {
  void* const there = mmap(nullptr, table_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  TORCH_CHECK(there != MAP_FAILED, "mmap of the receipts of shared memory: ", std::strerror(errno));
  return static_cast<receipt*>(there);
}

bool is_over(pid_t written) {
  if (written == done) return true;
  return written != not_received && kill(written, 0) != 0 && errno == ESRCH;
}

// ---- What is sent

struct message {
  std::array<char, 8> kind;
  int32_t device;
  uint32_t receipt;
  outback_ipc_handle handle;  // its fd: 0 if there is one, which is at `file`; else -1
  descriptor_place file;
  descriptor_place receipts;
  uint64_t offset, size;  // bytes, within the runtime's allocation
};
constexpr std::array<char, 8> message_kind = {'o', 'u', 't', 'b', 'a', 'c', 'k', 'm'};
constexpr uint64_t most_bytes = std::numeric_limits<int64_t>::max();

message parsed(std::string_view bytes) {
  message read;
  TORCH_CHECK_VALUE(bytes.size() == sizeof read, "expected what an export of memory returned, ",
                    sizeof read, " bytes, got ", bytes.size());
  std::memcpy(&read, bytes.data(), sizeof read);
  TORCH_CHECK_VALUE(read.kind == message_kind && read.receipt < most_receipts &&
                        read.handle.size <= sizeof read.handle.bytes,
                    "expected what an export of memory returned, got other bytes");
  TORCH_CHECK_VALUE(
      read.size > 0 && read.size <= most_bytes && read.offset <= most_bytes - read.size,
      "expected what an export of memory returned, got a message of ", read.size, " bytes at ",
      read.offset, ", which no memory has");
  read.handle.struct_size = sizeof read.handle;
  return read;
}

// ---- The sender

// An allocation of the runtime that others may open, with the descriptor that they may take.
struct shared_allocation {
  outback_ipc_handle handle;
  descriptor file;
};

class sender {
 public:
  // Never destroyed, since tensors may outlive main().
  static sender& get() {
    static auto& one = *new sender;
    sends.store(true, std::memory_order_release);
    return one;
  }
  inline static std::atomic<bool> sends{false};  // ever, in this process

  std::shared_ptr<shared_allocation> share(c10::DeviceIndex device, void* base) {
    const std::pair key{device, base};  // two devices may have equal addresses
    {
      const std::lock_guard lock(mutex_);
      if (auto known = allocations_[key].lock()) return known;
    }
    constexpr const char* slot = "ipc.get_memory";
    outback_ipc_handle handle = empty_handle();
    check(ipc_group(shared_memory_is).get_memory(runtime().self, device, base, &handle), slot,
          device);
    check_handle(handle, slot, device);
    auto made = std::make_shared<shared_allocation>(handle, descriptor(handle.fd));
    const std::lock_guard lock(mutex_);
    if (auto known = allocations_[key].lock()) return known;  // another thread was faster
    allocations_[key] = made;
    return made;
  }

  // Keeps `owner` until the receiver is done. Returns the place of its receipt.
  uint32_t keep(c10::DataPtr&& owner, uint64_t size,
                std::shared_ptr<shared_allocation> allocation) {
    const std::lock_guard lock(mutex_);
    uint32_t place = used_;
    if (!free_.empty()) {
      place = free_.back();
      free_.pop_back();
    } else {
      TORCH_CHECK(used_ < most_receipts, "more than ", most_receipts,
                  " tensors of this process are in others, or were sent and not received");
      ++used_;
    }
    table_[place].store(not_received, std::memory_order_release);
    kept_.push_back({place, std::move(owner), size, std::move(allocation)});
    return place;
  }

  // Returns another owner of the `size` bytes that are kept for a message of this process itself,
  // or null.
  c10::DataPtr find(uint32_t place, uint64_t size, c10::Device device) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const kept_memory& one) {
      return one.receipt == place && one.size == size && one.owner.device() == device;
    });
    return found == kept_.end() ? c10::DataPtr() : share_memory(found->owner, device);
  }

  void collect() {
    std::vector<kept_memory> over;  // freed without the lock
    const std::lock_guard lock(mutex_);
    const auto rest = std::partition(kept_.begin(), kept_.end(), [&](const kept_memory& one) {
      return !is_over(table_[one.receipt].load(std::memory_order_acquire));
    });
    std::move(rest, kept_.end(), std::back_inserter(over));
    kept_.erase(rest, kept_.end());
    for (const kept_memory& one : over) free_.push_back(one.receipt);
    std::erase_if(allocations_, [](const auto& known) { return known.second.expired(); });
  }

  receipt& at(uint32_t place) { return table_[place]; }
  const descriptor_place& place() const { return place_; }

 private:
  struct kept_memory {
    uint32_t receipt;
    c10::DataPtr owner;
    uint64_t size;  // bytes
    std::shared_ptr<shared_allocation> allocation;
  };

  sender() : file_(memfd_create("outback-receipts", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    TORCH_CHECK(file_.get() >= 0 && ftruncate(file_.get(), table_bytes) == 0 &&
                    fcntl(file_.get(), F_ADD_SEALS, table_seals) == 0,
                "a file in memory for the receipts of shared memory: ", std::strerror(errno));
    table_ = map_table(file_);
    place_ = place_of(file_.get());
  }

  const descriptor file_;
  receipt* table_;
  descriptor_place place_;
  std::mutex mutex_;
  std::vector<kept_memory> kept_;
  std::vector<uint32_t> free_;
  uint32_t used_ = 0;
  std::map<std::pair<c10::DeviceIndex, void*>, std::weak_ptr<shared_allocation>> allocations_;
};

// ---- The receiver

bool is_own(const message& read) {
  return read.receipts.process == getpid();
}

// In the table of another process, which stays mapped, one for each sender; or of this one.
receipt& receipt_of(const message& read) {
  if (is_own(read)) return sender::get().at(read.receipt);
  static auto& mutex = *new std::mutex;
  static auto& tables = *new std::map<std::pair<uint64_t, uint64_t>, receipt*>;
  const std::pair file{read.receipts.device, read.receipts.inode};
  const std::lock_guard lock(mutex);
  receipt*& table = tables[file];
  if (table == nullptr) {
    const descriptor taken = take_from(read.receipts);
    check_table(taken);
    table = map_table(taken);
  }
  return table[read.receipt];
}

// Memory of another process, open in this one.
struct opened_memory {
  c10::DeviceIndex device;
  void* base;
  receipt* note;
};

// A deleter. The allocator calls it when no stream uses the memory any more.
void close_opened(void* context) {
  const std::unique_ptr<opened_memory> opened(static_cast<opened_memory*>(context));
  if (is_in_bad_fork()) return;
  warn_of(unlocked([&] {
            return runtime().ipc->close_memory(runtime().self, opened->device, opened->base);
          }),
          "ipc.close_memory", opened->device);
  opened->note->store(done, std::memory_order_release);
}

// Throws unless the message's bytes are in the memory at `base`, as the runtime knows it. What the
// message says of itself may be wrong.
void check_range(const message& read, c10::DeviceIndex device, const void* base) {
  const outback_host_memory* const known = runtime().host_memory;
  if (known == nullptr) return;
  outback_pointer_info info{};
  info.struct_size = sizeof info;
  check(known->info(runtime().self, base, &info), "host_memory.info", device);
  if (info.base == nullptr || info.size == 0) return;  // this runtime does not know
  const auto before = static_cast<uint64_t>(static_cast<const std::byte*>(base) -
                                            static_cast<const std::byte*>(info.base));
  const uint64_t there = before < info.size ? info.size - before : 0;
  TORCH_CHECK_VALUE(read.offset <= there && read.size <= there - read.offset,
                    "expected what an export of memory returned, got a message of ", read.size,
                    " bytes at ", read.offset, " of memory that has ", there, " bytes");
}

c10::DataPtr open_memory(const message& read, c10::DeviceIndex device, receipt& note) {
  constexpr const char* slot = "ipc.open_memory";
  const descriptor file = read.handle.fd < 0 ? descriptor() : take_from(read.file);
  outback_ipc_handle handle = read.handle;
  handle.fd = file.get();
  void* base = nullptr;
  check(ipc_group(shared_memory_is).open_memory(runtime().self, device, &handle, &base), slot,
        device);
  check_made(base, "ptr", slot, device);
  // It owns the memory before the range is checked.
  c10::DataPtr opened(base, new opened_memory{device, base, &note}, &close_opened,
                      c10::Device(c10::kCPU));
  check_range(read, device, base);
  return {static_cast<std::byte*>(base) + read.offset, opened.release_context(), &close_opened,
          c10::Device(c10::kCPU)};
}

c10::Storage fixed_storage(c10::DataPtr&& memory, uint64_t size) {
  c10::Storage made = make_storage(std::move(memory), size);
  made.unsafeGetStorageImpl()->set_resizable(false);
  return made;
}

}  // namespace

bool shares_memory(c10::DeviceIndex device) {
  ensure_started();
  return runtime().ipc != nullptr && !twin_of(device);
}

std::string export_memory(c10::StorageImpl& storage) {
  const c10::Device device = storage.device();
  const c10::DeviceIndex index = device.index();
  collect_exports();
  std::optional<allocation> from = allocation_of(storage.data_ptr());
  if (!from || from->foreign == &close_opened) return {};
  if (from->foreign != nullptr) {
    c10::DataPtr moved = allocate_on(index, storage.nbytes());
    copy_bytes(moved.get(), device, storage.data(), device, storage.nbytes(),
               /*non_blocking=*/true);
    storage.set_data_ptr_noswap(std::move(moved));
    from = allocation_of(storage.data_ptr());
    TORCH_INTERNAL_ASSERT(from.has_value(), "the device's allocator gave what it does not know");
  }
  // The other process does not know our streams.
  synchronize_device(index);
  sender& here = sender::get();
  auto shared = here.share(index, from->base);
  message sent{};
  sent.kind = message_kind;
  sent.device = index;
  sent.handle = shared->handle;
  if (sent.handle.fd >= 0) {
    sent.file = place_of(sent.handle.fd);
    sent.handle.fd = 0;
  }
  sent.receipts = here.place();
  sent.offset = static_cast<uint64_t>(static_cast<const std::byte*>(storage.data()) -
                                      static_cast<const std::byte*>(from->base));
  sent.size = storage.nbytes();
  sent.receipt = here.keep(share_memory(storage.data_ptr(), device), sent.size, std::move(shared));
  return {reinterpret_cast<const char*>(&sent), sizeof sent};
}

c10::Storage import_memory(std::string_view bytes) {
  const message read = parsed(bytes);
  ensure_started();
  check_index(read.device);
  const auto index = static_cast<c10::DeviceIndex>(read.device);
  const c10::Device device(device_type, index);
  receipt& note = receipt_of(read);
  pid_t written = not_received;
  TORCH_CHECK_VALUE(note.compare_exchange_strong(written, getpid(), std::memory_order_acq_rel),
                    "this memory was received before");
  if (is_own(read)) {
    c10::DataPtr own = sender::get().find(read.receipt, read.size, device);
    note.store(done, std::memory_order_release);
    TORCH_CHECK_VALUE(own, "this process exported no such memory");
    return fixed_storage(std::move(own), read.size);
  }
  try {
    return fixed_storage(adopt(open_memory(read, index, note), read.size, index), read.size);
  } catch (...) {
    note.store(done, std::memory_order_release);
    throw;
  }
}

std::string memory_in(std::string_view bytes) {
  message read = parsed(bytes);
  read.receipt = 0;
  return {reinterpret_cast<const char*>(&read), sizeof read};
}

void decline_memory(std::string_view bytes) {
  const message read = parsed(bytes);
  receipt_of(read).store(done, std::memory_order_release);
}

void collect_exports() {
  if (sender::sends.load(std::memory_order_acquire) && !is_in_bad_fork()) sender::get().collect();
}

}  // namespace outback::core
