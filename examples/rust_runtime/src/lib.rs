//! A runtime for Outback in Rust: the eight required slots, streams, events and pinned memory.
//!
//! This file is the boundary. A slot checks what C passed, calls the safe part below, and answers a
//! status; error.rs keeps texts and panics. The rest knows nothing of C.

mod contract;
mod device;
mod error;
mod event;
mod layout;
mod memory;
mod stream;

use std::ffi::{c_char, c_void};
use std::mem::size_of;
use std::ptr;
use std::sync::Arc;

use contract::*;
use device::{check_device, DEVICE};
use error::{answer, invalid, last_text, run, unsupported, Result};
use event::Event;
use memory::Address;
use stream::Stream;

fn need<T>(ptr: *const T, name: &str) -> Result<()> {
    if ptr.is_null() {
        return Err(invalid(format!("{name} is null")));
    }
    Ok(())
}

/// Writes no further than the caller's `struct_size`, the first field of both, which stays.
unsafe fn write_sized<T>(out: *mut T, value: T) -> Result<()> {
    let head = size_of::<u32>();
    let size = unsafe { *(out as *const u32) } as usize;
    if size < head {
        return Err(invalid(format!(
            "struct_size is {size}: it must be the size of the struct"
        )));
    }
    let size = size.min(size_of::<T>()) - head;
    let from = ptr::addr_of!(value) as *const u8;
    unsafe { ptr::copy_nonoverlapping(from.add(head), (out as *mut u8).add(head), size) };
    Ok(())
}

/// A stream that nobody destroys meanwhile: the caller promises that.
unsafe fn stream_of(handle: StreamHandle) -> Result<Arc<Stream>> {
    if handle.is_null() {
        return DEVICE.default_stream();
    }
    unsafe {
        Arc::increment_strong_count(handle);
        Ok(Arc::from_raw(handle))
    }
}

unsafe fn event_of<'a>(handle: EventHandle) -> Result<&'a Event> {
    need(handle, "event")?;
    Ok(unsafe { &*handle })
}

// ---- The required slots

unsafe extern "C" fn last_error(_: *mut c_void) -> *const c_char {
    last_text()
}

unsafe extern "C" fn device_count(_: *mut c_void, count: *mut i32) -> Status {
    run(|| {
        need(count, "count")?;
        unsafe { *count = 1 };
        Ok(())
    })
}

unsafe extern "C" fn device_info(_: *mut c_void, device: i32, info: *mut DeviceInfo) -> Status {
    run(|| {
        check_device(device)?;
        need(info, "info")?;
        unsafe { write_sized(info, DEVICE.info()) }
    })
}

unsafe extern "C" fn device_sync(_: *mut c_void, device: i32) -> Status {
    run(|| {
        check_device(device)?;
        DEVICE.sync()
    })
}

unsafe extern "C" fn mem_alloc(
    _: *mut c_void,
    device: i32,
    size: usize,
    out: *mut *mut c_void,
) -> Status {
    run(|| {
        check_device(device)?;
        need(out, "ptr")?;
        unsafe { *out = DEVICE.memory.alloc(size)?.cast() };
        Ok(())
    })
}

unsafe extern "C" fn mem_free(_: *mut c_void, device: i32, ptr: *mut c_void) -> Status {
    run(|| {
        check_device(device)?;
        DEVICE.memory.free(ptr.cast())
    })
}

unsafe extern "C" fn mem_copy(
    _: *mut c_void,
    dst: *mut c_void,
    dst_device: i32,
    src: *const c_void,
    src_device: i32,
    size: usize,
    stream: StreamHandle,
) -> Status {
    run(|| {
        if dst_device == HOST && src_device == HOST {
            return Err(invalid("both sides of the copy are host memory"));
        }
        for device in [dst_device, src_device] {
            if device != HOST {
                check_device(device)?;
            }
        }
        if size == 0 {
            return Ok(());
        }
        need(dst, "dst")?;
        need(src, "src")?;
        let stream = unsafe { stream_of(stream) }?;
        let (to, from) = (Address::new(dst.cast()), Address::new(src.cast()));
        let done = stream.enqueue(move || unsafe {
            ptr::copy_nonoverlapping(from.get(), to.get(), size);
        });
        // Pageable memory is the caller's again when the call returns; only pinned memory can wait.
        let pinned = |device, at: Address| device != HOST || DEVICE.pinned.holds(at.get(), size);
        if !pinned(dst_device, to) || !pinned(src_device, from) {
            stream.wait(done);
        }
        Ok(())
    })
}

unsafe extern "C" fn mem_fill(
    _: *mut c_void,
    device: i32,
    ptr: *mut c_void,
    size: usize,
    pattern: *const c_void,
    pattern_size: usize,
    stream: StreamHandle,
) -> Status {
    run(|| {
        check_device(device)?;
        need(pattern, "pattern")?;
        if ![1, 2, 4, 8].contains(&pattern_size) {
            return Err(invalid(format!(
                "pattern_size is {pattern_size}, not 1, 2, 4 or 8"
            )));
        }
        if size % pattern_size != 0 {
            return Err(invalid(format!(
                "size {size} is no multiple of {pattern_size}"
            )));
        }
        if size == 0 {
            return Ok(());
        }
        need(ptr, "ptr")?;
        let stream = unsafe { stream_of(stream) }?;
        let mut word = [0; 8]; // the pattern is read now, not when the work runs
        unsafe { ptr::copy_nonoverlapping(pattern.cast(), word.as_mut_ptr(), pattern_size) };
        let to = Address::new(ptr.cast());
        stream.enqueue(move || unsafe {
            if pattern_size == 1 {
                return ptr::write_bytes(to.get(), word[0], size);
            }
            for at in (0..size).step_by(pattern_size) {
                ptr::copy_nonoverlapping(word.as_ptr(), to.get().add(at), pattern_size);
            }
        });
        Ok(())
    })
}

// ---- Streams

unsafe extern "C" fn stream_create(
    _: *mut c_void,
    device: i32,
    _priority: i32, // there is only one
    out: *mut StreamHandle,
) -> Status {
    run(|| {
        check_device(device)?;
        need(out, "stream")?;
        unsafe { *out = Arc::into_raw(DEVICE.new_stream()?) };
        Ok(())
    })
}

unsafe extern "C" fn stream_destroy(_: *mut c_void, device: i32, stream: StreamHandle) -> Status {
    run(|| {
        check_device(device)?;
        need(stream, "stream")?;
        unsafe { Arc::from_raw(stream) }.close();
        Ok(())
    })
}

unsafe extern "C" fn stream_query(_: *mut c_void, device: i32, stream: StreamHandle) -> Status {
    answer(|| {
        check_device(device)?;
        let ready = unsafe { stream_of(stream) }?.query()?;
        Ok(if ready { OK } else { NOT_READY })
    })
}

unsafe extern "C" fn stream_sync(_: *mut c_void, device: i32, stream: StreamHandle) -> Status {
    run(|| {
        check_device(device)?;
        unsafe { stream_of(stream) }?.sync()
    })
}

unsafe extern "C" fn stream_priorities(
    _: *mut c_void,
    device: i32,
    least: *mut i32,
    greatest: *mut i32,
) -> Status {
    run(|| {
        check_device(device)?;
        need(least, "least")?;
        need(greatest, "greatest")?;
        unsafe { (*least, *greatest) = (0, 0) };
        Ok(())
    })
}

// ---- Events

unsafe extern "C" fn event_create(
    _: *mut c_void,
    device: i32,
    flags: u32,
    out: *mut EventHandle,
) -> Status {
    run(|| {
        check_device(device)?;
        need(out, "event")?;
        if flags & EVENT_INTERPROCESS != 0 {
            return Err(unsupported("events cannot be shared between processes"));
        }
        unsafe { *out = Box::into_raw(Box::new(Event::new(device, flags))) };
        Ok(())
    })
}

unsafe extern "C" fn event_destroy(_: *mut c_void, device: i32, event: EventHandle) -> Status {
    run(|| {
        check_device(device)?;
        need(event, "event")?;
        drop(unsafe { Box::from_raw(event as *mut Event) });
        Ok(())
    })
}

unsafe extern "C" fn event_record(
    _: *mut c_void,
    device: i32,
    event: EventHandle,
    stream: StreamHandle,
) -> Status {
    run(|| {
        check_device(device)?;
        let event = unsafe { event_of(event) }?;
        event.record(&*unsafe { stream_of(stream) }?);
        Ok(())
    })
}

unsafe extern "C" fn event_wait(
    _: *mut c_void,
    device: i32,
    event: EventHandle,
    stream: StreamHandle,
) -> Status {
    run(|| {
        check_device(device)?;
        let event = unsafe { event_of(event) }?;
        event.block(&*unsafe { stream_of(stream) }?);
        Ok(())
    })
}

unsafe extern "C" fn event_query(_: *mut c_void, device: i32, event: EventHandle) -> Status {
    answer(|| {
        check_device(device)?;
        let ready = unsafe { event_of(event) }?.query();
        Ok(if ready { OK } else { NOT_READY })
    })
}

unsafe extern "C" fn event_sync(_: *mut c_void, device: i32, event: EventHandle) -> Status {
    run(|| {
        check_device(device)?;
        unsafe { event_of(event) }?.sync();
        Ok(())
    })
}

unsafe extern "C" fn event_elapsed(
    _: *mut c_void,
    from: EventHandle,
    to: EventHandle,
    ns: *mut i64,
) -> Status {
    answer(|| {
        let (from, to) = unsafe { (event_of(from)?, event_of(to)?) };
        need(ns, "ns")?;
        let Some(elapsed) = from.elapsed(to)? else {
            return Ok(NOT_READY);
        };
        unsafe { *ns = elapsed };
        Ok(OK)
    })
}

// ---- Pinned host memory

unsafe extern "C" fn host_alloc(_: *mut c_void, size: usize, out: *mut *mut c_void) -> Status {
    run(|| {
        need(out, "ptr")?;
        unsafe { *out = DEVICE.pinned.alloc(size)?.cast() };
        Ok(())
    })
}

unsafe extern "C" fn host_free(_: *mut c_void, ptr: *mut c_void) -> Status {
    run(|| DEVICE.pinned.free(ptr.cast()))
}

unsafe extern "C" fn host_info(
    _: *mut c_void,
    ptr: *const c_void,
    info: *mut PointerInfo,
) -> Status {
    run(|| {
        need(info, "info")?;
        let (memory, pinned) = (
            DEVICE.memory.find(ptr.cast()),
            DEVICE.pinned.find(ptr.cast()),
        );
        let (base, size) = memory.or(pinned).unwrap_or((ptr::null_mut(), 0));
        let answer = PointerInfo {
            struct_size: 0, // the caller's stays
            device: if memory.is_some() { 0 } else { HOST },
            pinned: pinned.is_some() as i32,
            reserved: 0,
            base: base.cast(),
            size,
        };
        unsafe { write_sized(info, answer) }
    })
}

// ---- The table

static STREAMS: Streams = Streams {
    struct_size: size_of::<Streams>() as u32,
    reserved: 0,
    create: stream_create,
    destroy: stream_destroy,
    query: stream_query,
    sync: stream_sync,
    priorities: stream_priorities,
};

static EVENTS: Events = Events {
    struct_size: size_of::<Events>() as u32,
    reserved: 0,
    create: event_create,
    destroy: event_destroy,
    record: event_record,
    wait: event_wait,
    query: event_query,
    sync: event_sync,
    elapsed: event_elapsed,
};

static HOST_MEMORY: HostMemory = HostMemory {
    struct_size: size_of::<HostMemory>() as u32,
    reserved: 0,
    alloc: host_alloc,
    free: host_free,
    info: host_info,
};

static RUNTIME: Runtime = Runtime {
    struct_size: size_of::<Runtime>() as u32,
    abi_major: ABI_MAJOR,
    abi_minor: ABI_MINOR,
    this: ptr::null_mut(), // there is one device, and it is static
    last_error,
    device_count,
    device_info,
    device_sync,
    mem_alloc,
    mem_free,
    mem_copy,
    mem_fill,
    streams: &STREAMS,
    events: &EVENTS,
    host_memory: &HOST_MEMORY,
};

#[no_mangle]
pub extern "C" fn rust_runtime() -> *const contract::Runtime {
    &RUNTIME
}
