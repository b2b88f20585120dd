//! Memory that is known by its address: the device's, and the host's pinned memory.

use std::alloc::{alloc, dealloc, Layout};
use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::error::{invalid, out_of_memory, Result};

pub const ALIGNMENT: usize = 64;

/// A place in memory that work on a stream's thread may use. The caller of a slot promises that it
/// is there, and that nobody else uses it meanwhile, until the work is done.
#[derive(Clone, Copy)]
pub struct Address(*mut u8);

unsafe impl Send for Address {}

impl Address {
    pub fn new(ptr: *const u8) -> Self {
        Self(ptr as *mut u8)
    }

    /// A call, so that a closure takes the whole Address and not the pointer in it.
    pub fn get(self) -> *mut u8 {
        self.0
    }
}

pub struct Memory {
    limit: usize,
    blocks: Mutex<Blocks>,
}

struct Blocks {
    used: usize,
    by_address: BTreeMap<usize, Layout>,
}

impl Memory {
    pub const fn new(limit: usize) -> Self {
        Self {
            limit,
            blocks: Mutex::new(Blocks {
                used: 0,
                by_address: BTreeMap::new(),
            }),
        }
    }

    /// Zero bytes are null.
    pub fn alloc(&self, size: usize) -> Result<*mut u8> {
        if size == 0 {
            return Ok(std::ptr::null_mut());
        }
        let mut blocks = self.blocks.lock().unwrap();
        let free = self.limit - blocks.used;
        let layout = Layout::from_size_align(size, ALIGNMENT)
            .ok()
            .filter(|_| size <= free);
        let Some(layout) = layout else {
            let text = format!("asked for {size} bytes, {free} of {} are free", self.limit);
            return Err(out_of_memory(text));
        };
        let ptr = unsafe { alloc(layout) };
        if ptr.is_null() {
            return Err(out_of_memory(format!("the host has not {size} bytes left")));
        }
        blocks.used += size;
        blocks.by_address.insert(ptr as usize, layout);
        Ok(ptr)
    }

    pub fn free(&self, ptr: *mut u8) -> Result<()> {
        if ptr.is_null() {
            return Ok(());
        }
        let mut blocks = self.blocks.lock().unwrap();
        let Some(layout) = blocks.by_address.remove(&(ptr as usize)) else {
            return Err(invalid(format!(
                "{ptr:p} was not allocated here, or is freed already"
            )));
        };
        blocks.used -= layout.size();
        unsafe { dealloc(ptr, layout) };
        Ok(())
    }

    /// Where the block begins that has this address in it, and its size.
    pub fn find(&self, ptr: *const u8) -> Option<(*mut u8, usize)> {
        let address = ptr as usize;
        let blocks = self.blocks.lock().unwrap();
        let (&base, layout) = blocks.by_address.range(..=address).next_back()?;
        (address - base < layout.size()).then_some((base as *mut u8, layout.size()))
    }

    /// All `size` bytes from `ptr` on are in one block.
    pub fn holds(&self, ptr: *const u8, size: usize) -> bool {
        let Some((base, all)) = self.find(ptr) else {
            return false;
        };
        size <= all - (ptr as usize - base as usize)
    }
}
