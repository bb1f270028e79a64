//! Limits that a WebTransport peer sets for the streams and bytes of one session (draft-ietf-webtrans-http3-16 §5).
//! Exists only if the peer sets a limit that the session may reach.

use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;

use quinn_proto::Dir;

use crate::h3::Credit;
use crate::handle::Handle;

/// Limit of the bytes on all streams of a session together; shared by those streams.
pub struct DataCredit {
    limit: Cell<u64>,
    sent: Cell<u64>,
    /// The limit that was last reported to the peer as exhausted.
    told: Cell<Option<u64>>,
}

impl DataCredit {
    pub fn left(&self) -> u64 {
        self.limit.get() - self.sent.get()
    }

    pub fn spend(&self, bytes: u64) {
        self.sent.set(self.sent.get() + bytes);
    }

    /// Returns an exhausted limit once, so that it can be reported.
    pub fn newly_blocked(&self) -> Option<u64> {
        let limit = self.limit.get();
        (self.left() == 0 && self.told.replace(Some(limit)) != Some(limit)).then_some(limit)
    }
}

pub struct SessionCredit {
    pub data: Rc<DataCredit>,
    streams: [u64; 2],
    opened: [u64; 2],
    /// Streams that wait for the peer's limit, in order: bidirectional, unidirectional.
    waiting: [VecDeque<Handle>; 2],
    told: [Option<u64>; 2],
}

impl SessionCredit {
    pub fn new(credit: Credit) -> Self {
        let data = DataCredit {
            limit: Cell::new(credit.data),
            sent: Cell::new(0),
            told: Cell::new(None),
        };
        SessionCredit {
            data: Rc::new(data),
            streams: credit.streams,
            opened: [0; 2],
            waiting: Default::default(),
            told: [None; 2],
        }
    }

    /// Raises a limit. Returns whether the session may send more data than before.
    pub fn raise(&mut self, credit: Credit) -> bool {
        self.streams = credit.streams;
        self.data.limit.replace(credit.data) < credit.data
    }

    /// Counts another stream if the limit allows it, and returns whether it does.
    pub fn take_stream(&mut self, dir: Dir) -> bool {
        let opened = &mut self.opened[dir as usize];
        let takes = *opened < self.streams[dir as usize];
        *opened += u64::from(takes);
        takes
    }

    /// Queues a stream until the limit is raised. Returns the limit if it has not been reported to the peer yet.
    pub fn wait(&mut self, dir: Dir, stream: Handle) -> Option<u64> {
        let limit = self.streams[dir as usize];
        self.waiting[dir as usize].push_back(stream);
        (self.told[dir as usize].replace(limit) != Some(limit)).then_some(limit)
    }

    /// Removes and counts the next waiting stream that may be opened; skips streams that no longer exist.
    pub fn next_waiting(&mut self, dir: Dir, lives: impl Fn(Handle) -> bool) -> Option<Handle> {
        while self.opened[dir as usize] < self.streams[dir as usize] {
            let stream = self.waiting[dir as usize].pop_front()?;
            if lives(stream) {
                self.opened[dir as usize] += 1;
                return Some(stream);
            }
        }
        None
    }

    pub fn all_waiting(&self) -> impl Iterator<Item = Handle> {
        self.waiting.iter().flatten().copied()
    }
}
