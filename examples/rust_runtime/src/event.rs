//! An event: whatever place in a stream it was recorded at last.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

use crate::contract::EVENT_TIMING;
use crate::error::{invalid, Result};
use crate::stream::Stream;

pub struct Event {
    device: i32,
    flags: u32,
    mark: Mutex<Option<Arc<Mark>>>,
}

/// One recording. Those who wait for it share it, so that it outlives its event, and so that
/// recording the event again changes nothing for them.
#[derive(Default)]
struct Mark {
    reached: Mutex<Option<Instant>>,
    changed: Condvar,
}

impl Mark {
    fn reach(&self) {
        *self.reached.lock().unwrap() = Some(Instant::now());
        self.changed.notify_all();
    }

    fn time(&self) -> Option<Instant> {
        *self.reached.lock().unwrap()
    }

    fn wait(&self) {
        let reached = self.reached.lock().unwrap();
        drop(
            self.changed
                .wait_while(reached, |time| time.is_none())
                .unwrap(),
        );
    }
}

impl Event {
    pub fn new(device: i32, flags: u32) -> Self {
        Self {
            device,
            flags,
            mark: Mutex::default(),
        }
    }

    fn current(&self) -> Option<Arc<Mark>> {
        self.mark.lock().unwrap().clone()
    }

    pub fn record(&self, stream: &Stream) {
        let fresh = Arc::new(Mark::default());
        let shared = Arc::clone(&fresh);
        stream.enqueue(move || shared.reach());
        *self.mark.lock().unwrap() = Some(fresh);
    }

    /// `stream` waits; the caller does not.
    pub fn block(&self, stream: &Stream) {
        if let Some(mark) = self.current().filter(|mark| mark.time().is_none()) {
            stream.enqueue(move || mark.wait());
        }
    }

    pub fn query(&self) -> bool {
        self.current().map_or(true, |mark| mark.time().is_some())
    }

    pub fn sync(&self) {
        if let Some(mark) = self.current() {
            mark.wait();
        }
    }

    /// From here to `end`, in nanoseconds; None while one of the two is pending.
    pub fn elapsed(&self, end: &Event) -> Result<Option<i64>> {
        if self.device != end.device {
            return Err(invalid("elapsed time needs two events of one device"));
        }
        if self.flags & end.flags & EVENT_TIMING == 0 {
            return Err(invalid(
                "elapsed time needs two events that were created with TIMING",
            ));
        }
        let (Some(first), Some(last)) = (self.current(), end.current()) else {
            return Err(invalid("elapsed time needs two events that were recorded"));
        };
        let (Some(first), Some(last)) = (first.time(), last.time()) else {
            return Ok(None);
        };
        // Instants have no negative difference: one of the two is zero.
        let forward = last.saturating_duration_since(first).as_nanos() as i64;
        let backward = first.saturating_duration_since(last).as_nanos() as i64;
        Ok(Some(forward - backward))
    }
}
