//! Failures on their way out: a status for the caller, and a text that waits for `last_error`.

use std::any::Any;
use std::cell::UnsafeCell;
use std::ffi::c_char;
use std::panic::{catch_unwind, AssertUnwindSafe};

use crate::contract::{Status, INTERNAL, INVALID_ARGUMENT, OK, OUT_OF_MEMORY, UNSUPPORTED};

#[derive(Debug)]
pub struct Error {
    status: Status,
    text: String,
}

pub type Result<T> = std::result::Result<T, Error>;

pub fn invalid(text: impl Into<String>) -> Error {
    Error {
        status: INVALID_ARGUMENT,
        text: text.into(),
    }
}

pub fn out_of_memory(text: impl Into<String>) -> Error {
    Error {
        status: OUT_OF_MEMORY,
        text: text.into(),
    }
}

pub fn unsupported(text: impl Into<String>) -> Error {
    Error {
        status: UNSUPPORTED,
        text: text.into(),
    }
}

pub fn internal(text: impl Into<String>) -> Error {
    Error {
        status: INTERNAL,
        text: text.into(),
    }
}

const TEXT_SIZE: usize = 256;

thread_local! {
    // A plain array, which needs no destructor: it can be read and written for as long as the
    // thread runs, and its address stays the same.
    static TEXT: UnsafeCell<[u8; TEXT_SIZE]> = const { UnsafeCell::new([0; TEXT_SIZE]) };
}

/// This thread's last failure, null-terminated; empty before the first.
pub fn last_text() -> *const c_char {
    TEXT.with(|buffer| buffer.get() as *const c_char)
}

fn keep(error: &Error) -> Status {
    // Cut to fit, and at the first null: C would read no further.
    let text = error.text.split('\0').next().unwrap_or_default().as_bytes();
    let size = text.len().min(TEXT_SIZE - 1);
    TEXT.with(|buffer| {
        // No other reference exists: the array is this thread's, and C has only its address.
        let buffer = unsafe { &mut *buffer.get() };
        buffer[..size].copy_from_slice(&text[..size]);
        buffer[size] = 0;
    });
    error.status
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or(panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no text")
}

/// The body of a slot that answers a status. What it panics with ends here: unwinding into C is
/// not an option, and neither is an abort.
pub fn answer(body: impl FnOnce() -> Result<Status>) -> Status {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(status)) => status,
        Ok(Err(error)) => keep(&error),
        Err(panic) => keep(&internal(format!(
            "a bug, the runtime panicked: {}",
            text_of(&*panic)
        ))),
    }
}

/// The body of a slot that succeeds or fails.
pub fn run(body: impl FnOnce() -> Result<()>) -> Status {
    answer(|| body().map(|()| OK))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    fn text() -> String {
        unsafe { CStr::from_ptr(last_text()) }
            .to_str()
            .unwrap()
            .to_owned()
    }

    #[test]
    fn a_panic_is_an_internal_error() {
        assert_eq!(run(|| panic!("index 7 of 3")), INTERNAL);
        assert_eq!(text(), "a bug, the runtime panicked: index 7 of 3");
    }

    #[test]
    fn a_text_is_cut_to_fit() {
        assert_eq!(run(|| Err(invalid("x".repeat(1000)))), INVALID_ARGUMENT);
        assert_eq!(text(), "x".repeat(TEXT_SIZE - 1));
        assert_eq!(run(|| Err(out_of_memory("full\0 of it"))), OUT_OF_MEMORY);
        assert_eq!(text(), "full");
    }

    #[test]
    fn a_text_is_the_threads_own() {
        assert_eq!(run(|| Err(invalid("mine"))), INVALID_ARGUMENT);
        assert_eq!(std::thread::spawn(text).join().unwrap(), "");
        assert_eq!(run(|| Ok(())), OK);
        assert_eq!(text(), "mine");
    }
}
