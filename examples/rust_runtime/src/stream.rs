//! A stream: a queue, and a thread that runs it one piece of work after another.

use std::collections::VecDeque;
use std::mem;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use crate::error::{internal, Result};

type Work = Box<dyn FnOnce() + Send>;

pub struct Stream {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Work>,
    enqueued: u64,
    done: u64,
    closed: bool,
    failed: bool, // and nobody has been told yet
}

/// A place in the queue: what was enqueued up to there.
#[derive(Clone, Copy)]
pub struct Ticket(u64);

impl Stream {
    /// The thread has a share of the stream, and goes when the stream is closed and empty.
    pub fn start() -> Result<Arc<Self>> {
        let stream = Arc::new(Self {
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let shared = Arc::clone(&stream);
        thread::Builder::new()
            .name("rust_runtime".into())
            .spawn(move || shared.work())
            .map_err(|error| internal(format!("cannot start a stream's thread: {error}")))?;
        Ok(stream)
    }

    pub fn enqueue(&self, work: impl FnOnce() + Send + 'static) -> Ticket {
        let mut state = self.state.lock().unwrap();
        state.queue.push_back(Box::new(work));
        state.enqueued += 1;
        self.changed.notify_all();
        Ticket(state.enqueued)
    }

    pub fn last(&self) -> Ticket {
        Ticket(self.state.lock().unwrap().enqueued)
    }

    /// Waits for this work and all before it.
    pub fn wait(&self, ticket: Ticket) {
        let state = self.state.lock().unwrap();
        drop(
            self.changed
                .wait_while(state, |s| s.done < ticket.0)
                .unwrap(),
        );
    }

    /// Waits, and tells what has failed since the last time.
    pub fn sync(&self) -> Result<()> {
        self.wait(self.last());
        self.tell_failure()
    }

    /// Whether all work is done; tells what has failed since the last time.
    pub fn query(&self) -> Result<bool> {
        self.tell_failure()?;
        Ok(self.state.lock().unwrap().is_idle())
    }

    pub fn tell_failure(&self) -> Result<()> {
        match mem::take(&mut self.state.lock().unwrap().failed) {
            false => Ok(()),
            true => Err(internal("a bug, work on this stream panicked")),
        }
    }

    /// Nothing is enqueued any more; what is in the queue still runs.
    pub fn close(&self) {
        self.state.lock().unwrap().closed = true;
        self.changed.notify_all();
    }

    pub fn is_over(&self) -> bool {
        let state = self.state.lock().unwrap();
        state.closed && state.is_idle()
    }

    fn work(&self) {
        let mut state = self.state.lock().unwrap();
        loop {
            let idle = |s: &mut State| s.queue.is_empty() && !s.closed;
            state = self.changed.wait_while(state, idle).unwrap();
            let Some(work) = state.queue.pop_front() else {
                return;
            };
            drop(state); // no lock of ours while work runs: it may wait for another stream
            let failed = catch_unwind(AssertUnwindSafe(work)).is_err();
            state = self.state.lock().unwrap();
            state.failed |= failed;
            state.done += 1;
            self.changed.notify_all();
        }
    }
}

impl State {
    fn is_idle(&self) -> bool {
        self.done == self.enqueued
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn what_fails_late_is_told_once() {
        let stream = Stream::start().unwrap();
        stream.enqueue(|| panic!("on purpose"));
        stream.wait(stream.last());
        assert!(stream.query().is_err());
        assert!(stream.query().unwrap());
        stream.enqueue(|| panic!("on purpose"));
        assert!(stream.sync().is_err());
        assert!(stream.sync().is_ok());
        stream.close();
    }

    #[test]
    fn a_closed_stream_finishes_its_queue() {
        let (send, receive) = mpsc::channel();
        let (open, gate) = mpsc::channel::<()>();
        let stream = Stream::start().unwrap();
        stream.enqueue(move || gate.recv().unwrap());
        stream.enqueue(move || send.send(7).unwrap());
        stream.close();
        assert!(!stream.is_over());
        open.send(()).unwrap();
        assert_eq!(receive.recv().unwrap(), 7);
        stream.sync().unwrap();
        assert!(stream.is_over());
    }
}
