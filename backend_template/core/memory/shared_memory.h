// Device memory that two processes share through the runtime's group ipc. torch.multiprocessing
// sends tensors this way (module/_outback/reducers.py).
//
// The sender keeps the memory allocated until the receiver is done with it. The two communicate
// through a table of receipts, an in-memory file that the sender makes and its receivers map. A
// receiver that was killed counts as done. If the sender ends first, the driver may or may not free
// the memory. So the sender must outlive its receivers, as with torch.cuda's tensors.
//
// All functions are thread-safe, and throw what `check` throws.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Storage.h>

#include <string>
#include <string_view>

namespace outback::core {

/// Returns true if memory of `device`, a valid index, can be shared: the runtime has the group ipc
/// and the device has no twin (a twin's memory belongs to the twin). Starts the backend.
bool shares_memory(c10::DeviceIndex device);

/// Returns a message from which one other process of the same user, on the same machine, makes a
/// storage over the same memory. Other threads may use the memory during the call. Waits for the
/// device, so that the other process sees the results of all enqueued work. Returns "" for a
/// storage without memory, for memory that is not the device allocator's, and for memory that came
/// from another process.
///
/// Memory that the CPU allocated (`adopt`) is moved first, so the storage's pointer changes, as it
/// does when torch shares a CPU storage. Throws c10::Error (RuntimeError) while a stream of the
/// device is captured.
std::string export_memory(c10::StorageImpl& storage);

/// Returns a storage over the memory that another process exported. Call it once for each export.
/// As with shared CPU memory, the storage cannot be resized, since it would leave the shared
/// memory.
///
/// Throws c10::ValueError (ValueError) if `message` is malformed, claims more memory than the
/// export has, or was received before, and if this process lacks permission to inspect the sender.
/// So a message need not be trusted. But a runtime without host_memory.info cannot tell the size of
/// the memory, and then the size in the message is not checked.
c10::Storage import_memory(std::string_view message);

/// Returns the part that is equal in all messages for the same memory: the same pointer and size.
std::string memory_in(std::string_view message);

/// Tells the sender that this process has the memory already, and will not import the message.
void decline_memory(std::string_view message);

/// Frees exported memory that no receiver uses any more. Each export does so too.
void collect_exports();

}  // namespace outback::core
