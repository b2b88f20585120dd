// Memory of the device that two processes use, by the runtime's group ipc: how
// torch.multiprocessing sends tensors (module/_outback/reducers.py).
//
// The sender keeps the memory allocated until the receiver is done with it. The two tell each other
// by a table of receipts, a file in memory that the sender makes and its receivers map. A receiver
// that was killed counts as done. Memory of a sender that has ended is gone, or not, as the driver
// has it: so it has to live for as long, as with torch.cuda's tensors.
//
// All functions are thread-safe, and throw what `check` throws.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Storage.h>

#include <string>
#include <string_view>

namespace outback::core {

/// True if the memory of `device`, a valid index, can be shared: the runtime has the group ipc. On
/// a device with a twin false: the memory is the twin's. Starts the backend.
bool shares_memory(c10::DeviceIndex device);

/// Returns bytes of which one other process, of the same user on the same machine, makes a storage
/// over the same memory. Other threads may use the memory meanwhile. Waits for the device, so that
/// the other process sees what this one has enqueued. Returns "" for a storage without memory, for
/// memory that is not the device allocator's, and for memory that came from another process.
///
/// Memory that the CPU allocated (`adopt`) is moved first: the storage gets another pointer, as one
/// of the CPU does that is shared. Throws c10::Error (RuntimeError) while a stream of the device is
/// captured.
std::string export_memory(c10::StorageImpl& storage);

/// Returns a storage over the memory that another process exported. Once for each export. As with
/// the CPU's shared memory, the storage cannot be resized: it would leave the memory.
///
/// Throws c10::ValueError (ValueError) if the bytes are no such message, if they tell of more
/// memory than there is, if they were received before, and if this process may not look into the
/// sender. The message may come from anywhere. Where the runtime has no host_memory.info, nobody
/// knows how much memory there is.
c10::Storage import_memory(std::string_view message);

/// Returns what all messages for the same memory, of the same pointer and size, have in common.
std::string memory_in(std::string_view message);

/// Says for a message that this process has the memory already, and does not import it.
void decline_memory(std::string_view message);

/// Frees the memory with which all receivers are done. So does each export.
void collect_exports();

}  // namespace outback::core
