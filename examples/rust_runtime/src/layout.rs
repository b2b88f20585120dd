//! Where Rust puts each field of contract.rs, for a test that knows where C does.

use std::ffi::{c_char, CStr};
use std::mem::{offset_of, size_of};

use crate::contract::{DeviceInfo, Events, HostMemory, PointerInfo, Runtime, Streams};

/// A field, or a whole struct, whose offset is 0 and whose name has no dot.
#[repr(C)]
pub struct Place {
    name: *const c_char, // "outback_streams.create"; lives as long as the process
    offset: usize,
    size: usize, // 0 for a field: its neighbours say it
}

unsafe impl Sync for Place {}

const fn place(name: &'static str, offset: usize, size: usize) -> Place {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => Place {
            name: name.as_ptr(),
            offset,
            size,
        },
        Err(_) => panic!("not null-terminated"),
    }
}

macro_rules! layout {
    ($($name:literal $type:ident { $($field:ident)* })*) => {
        static LAYOUT: &[Place] = &[$(
            place(concat!($name, "\0"), 0, size_of::<$type>()),
            $(place(concat!($name, ".", stringify!($field), "\0"), offset_of!($type, $field), 0),)*
        )*];
    };
}

layout! {
    "outback_device_info" DeviceInfo {
        struct_size flags memory_size max_alloc_size alignment kernels_of compute_units
        subgroup_size max_group_size capability_major capability_minor uuid name pci_id
    }
    "outback_pointer_info" PointerInfo { struct_size device pinned reserved base size }
    "outback_streams" Streams { struct_size reserved create destroy query sync priorities }
    "outback_events" Events {
        struct_size reserved create destroy record wait query sync elapsed
    }
    "outback_host_memory" HostMemory { struct_size reserved alloc free info }
    "outback_runtime" Runtime {
        struct_size abi_major abi_minor this last_error device_count device_info device_sync
        mem_alloc mem_free mem_copy mem_fill streams events host_memory
    }
}

/// # Safety
/// `count` is writable.
#[no_mangle]
pub unsafe extern "C" fn rust_runtime_layout(count: *mut usize) -> *const Place {
    unsafe { *count = LAYOUT.len() };
    LAYOUT.as_ptr()
}
