//! outback/runtime.h in Rust, as far as this runtime has it: the C compiler's layout, field by
//! field, which layout.rs lets a test compare with the header. What the types mean is told there.
#![allow(dead_code)] // the header's names, whether this runtime needs them or not

use std::ffi::{c_char, c_void};

pub const ABI_MAJOR: u16 = 1;
pub const ABI_MINOR: u16 = 0;
pub const HOST: i32 = -1;

pub type Status = i32;
pub const OK: Status = 0;
pub const NOT_READY: Status = 1;
pub const INVALID_ARGUMENT: Status = 2;
pub const OUT_OF_MEMORY: Status = 3;
pub const DEVICE_LOST: Status = 4;
pub const UNSUPPORTED: Status = 5;
pub const INTERNAL: Status = 6;

pub const HOST_ADDRESSABLE: u32 = 1;
pub const ADDRESSES_HOST: u32 = 2;
pub const INTEGRATED: u32 = 4;

pub const EVENT_TIMING: u32 = 1;
pub const EVENT_BLOCKING: u32 = 2;
pub const EVENT_INTERPROCESS: u32 = 4;

/// outback_stream, outback_event: pointers to what only the runtime knows.
pub type StreamHandle = *const crate::stream::Stream;
pub type EventHandle = *const crate::event::Event;

#[repr(C)]
pub struct DeviceInfo {
    pub struct_size: u32,
    pub flags: u32,
    pub memory_size: u64,
    pub max_alloc_size: u64,
    pub alignment: u32,
    pub kernels_of: i32,
    pub compute_units: u32,
    pub subgroup_size: u32,
    pub max_group_size: u32,
    pub capability_major: u16,
    pub capability_minor: u16,
    pub uuid: [u8; 16],
    pub name: [u8; 64],
    pub pci_id: [u8; 16],
}

#[repr(C)]
pub struct PointerInfo {
    pub struct_size: u32,
    pub device: i32,
    pub pinned: i32,
    pub reserved: i32,
    pub base: *mut c_void,
    pub size: usize,
}

#[repr(C)]
pub struct Streams {
    pub struct_size: u32,
    pub reserved: u32,
    pub create: unsafe extern "C" fn(*mut c_void, i32, i32, *mut StreamHandle) -> Status,
    pub destroy: unsafe extern "C" fn(*mut c_void, i32, StreamHandle) -> Status,
    pub query: unsafe extern "C" fn(*mut c_void, i32, StreamHandle) -> Status,
    pub sync: unsafe extern "C" fn(*mut c_void, i32, StreamHandle) -> Status,
    pub priorities: unsafe extern "C" fn(*mut c_void, i32, *mut i32, *mut i32) -> Status,
}

#[repr(C)]
pub struct Events {
    pub struct_size: u32,
    pub reserved: u32,
    pub create: unsafe extern "C" fn(*mut c_void, i32, u32, *mut EventHandle) -> Status,
    pub destroy: unsafe extern "C" fn(*mut c_void, i32, EventHandle) -> Status,
    pub record: unsafe extern "C" fn(*mut c_void, i32, EventHandle, StreamHandle) -> Status,
    pub wait: unsafe extern "C" fn(*mut c_void, i32, EventHandle, StreamHandle) -> Status,
    pub query: unsafe extern "C" fn(*mut c_void, i32, EventHandle) -> Status,
    pub sync: unsafe extern "C" fn(*mut c_void, i32, EventHandle) -> Status,
    pub elapsed: unsafe extern "C" fn(*mut c_void, EventHandle, EventHandle, *mut i64) -> Status,
}

#[repr(C)]
pub struct HostMemory {
    pub struct_size: u32,
    pub reserved: u32,
    pub alloc: unsafe extern "C" fn(*mut c_void, usize, *mut *mut c_void) -> Status,
    pub free: unsafe extern "C" fn(*mut c_void, *mut c_void) -> Status,
    pub info: unsafe extern "C" fn(*mut c_void, *const c_void, *mut PointerInfo) -> Status,
}

/// The table, up to the last group that this runtime has. The header goes on; what lies beyond
/// `struct_size` counts as absent, so there is no need to follow it.
#[repr(C)]
pub struct Runtime {
    pub struct_size: u32,
    pub abi_major: u16,
    pub abi_minor: u16,
    pub this: *mut c_void, // `self` in the header
    pub last_error: unsafe extern "C" fn(*mut c_void) -> *const c_char,
    pub device_count: unsafe extern "C" fn(*mut c_void, *mut i32) -> Status,
    pub device_info: unsafe extern "C" fn(*mut c_void, i32, *mut DeviceInfo) -> Status,
    pub device_sync: unsafe extern "C" fn(*mut c_void, i32) -> Status,
    pub mem_alloc: unsafe extern "C" fn(*mut c_void, i32, usize, *mut *mut c_void) -> Status,
    pub mem_free: unsafe extern "C" fn(*mut c_void, i32, *mut c_void) -> Status,
    pub mem_copy: MemCopy,
    pub mem_fill: MemFill,
    pub streams: *const Streams,
    pub events: *const Events,
    pub host_memory: *const HostMemory,
}

pub type MemCopy = unsafe extern "C" fn(
    *mut c_void,
    *mut c_void,
    i32,
    *const c_void,
    i32,
    usize,
    StreamHandle,
) -> Status;

pub type MemFill = unsafe extern "C" fn(
    *mut c_void,
    i32,
    *mut c_void,
    usize,
    *const c_void,
    usize,
    StreamHandle,
) -> Status;

// Nothing in a table changes once it is made.
unsafe impl Sync for Runtime {}
