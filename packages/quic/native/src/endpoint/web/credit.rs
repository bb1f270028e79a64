//! Limits that a WebTransport peer sets for the streams and bytes of one session (draft-ietf-webtrans-http3-16 §5).
//! Exists only if the peer sets a limit that the session may reach.

use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;

use quinn_proto::Dir;

use crate::bridge::error::Failure;
use crate::bridge::handle::Handle;
use crate::endpoint::Endpoint;
use crate::http3::Credit;
use crate::quic::stream::Stream;

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

impl Endpoint {
    /// Makes a stream that waits for WT_MAX_STREAMS.
    pub(in crate::endpoint) fn make_waiting_stream(
        &mut self,
        session: Handle,
        owner: Handle,
        dir: Dir,
    ) -> Result<Handle, Failure> {
        let stream = self.insert_stream(Stream::local(owner, None, dir))?;
        let credit = self.sessions.get_mut(session).and_then(|state| state.credit.as_mut());
        if let Some(limit) = credit.and_then(|credit| credit.wait(dir, stream)) {
            self.with_http3(session, |http3, id| http3.streams_blocked(id, dir == Dir::Uni, limit));
        }
        Ok(stream)
    }

    /// Raises the limits of a session as the peer allows.
    pub(in crate::endpoint) fn credit_session(&mut self, session: Handle, credit: Credit) {
        let Some(state) = self.sessions.get_mut(session) else {
            return;
        };
        let owner = state.connection;
        let Some(limits) = &mut state.credit else { return };
        let more_data = limits.raise(credit);
        for dir in [Dir::Bi, Dir::Uni] {
            self.open_credited(session, owner, dir);
        }
        if more_data {
            for stream in self.streams_of(session) {
                self.flush_stream(owner.index as usize, stream);
            }
        }
        self.mark(owner.index as usize);
    }

    fn open_credited(&mut self, session: Handle, owner: Handle, dir: Dir) {
        loop {
            let lives = |stream| self.streams.get(stream).is_some();
            let credit = self.sessions.get_mut(session).and_then(|state| state.credit.as_mut());
            let Some(stream) = credit.and_then(|credit| credit.next_waiting(dir, lives)) else {
                break;
            };
            if let Some(connection) = self.connection(owner) {
                connection.waiting(dir).push_back(stream);
            }
        }
        self.open_waiting(owner.index as usize, dir);
    }

    /// Reports to the peer that its limit of a session's data blocks a stream.
    pub(in crate::endpoint) fn tell_blocked(&mut self, stream: Handle, limit: Option<u64>) {
        if let Some(limit) = limit
            && let Some(session) = self.streams.get(stream).and_then(|stream| stream.session)
        {
            self.with_http3(session, |http3, id| http3.data_blocked(id, limit));
        }
    }
}
