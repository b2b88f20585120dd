//! The one device: 64 MiB of the host's memory, and streams that are threads.

use std::sync::{Arc, Mutex, OnceLock};

use crate::contract::{DeviceInfo, ADDRESSES_HOST, HOST_ADDRESSABLE};
use crate::error::{invalid, Result};
use crate::memory::{Memory, ALIGNMENT};
use crate::stream::Stream;

const MEMORY_SIZE: usize = 64 << 20;

pub static DEVICE: Device = Device {
    memory: Memory::new(MEMORY_SIZE),
    pinned: Memory::new(isize::MAX as usize),
    default_stream: OnceLock::new(),
    streams: Mutex::new(Vec::new()),
};

pub struct Device {
    pub memory: Memory,
    pub pinned: Memory,
    default_stream: OnceLock<Arc<Stream>>,
    streams: Mutex<Vec<Arc<Stream>>>, // with the destroyed ones whose work still runs
}

pub fn check_device(device: i32) -> Result<()> {
    match device {
        0 => Ok(()),
        _ => Err(invalid(format!(
            "there is no device {device}: the only one is 0"
        ))),
    }
}

impl Device {
    pub fn info(&self) -> DeviceInfo {
        let mut name = [0; 64];
        name[..11].copy_from_slice(b"Rust device");
        DeviceInfo {
            struct_size: 0, // the caller's stays
            flags: HOST_ADDRESSABLE | ADDRESSES_HOST,
            memory_size: MEMORY_SIZE as u64,
            max_alloc_size: MEMORY_SIZE as u64,
            alignment: ALIGNMENT as u32,
            kernels_of: 1, // the CPU's
            compute_units: 0,
            subgroup_size: 0,
            max_group_size: 0,
            capability_major: 0,
            capability_minor: 0,
            uuid: [0; 16],
            name,
            pci_id: [0; 16],
        }
    }

    pub fn new_stream(&self) -> Result<Arc<Stream>> {
        let stream = Stream::start()?;
        let mut streams = self.streams.lock().unwrap();
        streams.retain(|s| !s.is_over());
        streams.push(Arc::clone(&stream));
        Ok(stream)
    }

    /// Its thread starts with its first use: a process that only counts devices can still fork.
    pub fn default_stream(&self) -> Result<Arc<Stream>> {
        if let Some(stream) = self.default_stream.get() {
            return Ok(Arc::clone(stream));
        }
        let made = self.new_stream()?;
        let kept = self.default_stream.get_or_init(|| Arc::clone(&made));
        if !Arc::ptr_eq(kept, &made) {
            made.close(); // another thread was faster
        }
        Ok(Arc::clone(kept))
    }

    /// Waits for what is enqueued now, on all streams, and tells the first failure.
    pub fn sync(&self) -> Result<()> {
        let streams = self.streams.lock().unwrap().clone();
        let last: Vec<_> = streams.iter().map(|stream| stream.last()).collect();
        streams
            .iter()
            .zip(last)
            .for_each(|(stream, ticket)| stream.wait(ticket));
        streams.iter().try_for_each(|stream| stream.tell_failure())
    }
}
