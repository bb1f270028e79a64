//! Flow control of WebTransport sessions: streams and data that wait for capsules of the peer.

use quinn_proto::Dir;

use super::Endpoint;
use crate::error::Failure;
use crate::h3::Credit;
use crate::handle::Handle;
use crate::stream::Stream;

impl Endpoint {
    /// Makes a stream that waits for WT_MAX_STREAMS.
    pub(super) fn make_waiting_stream(&mut self, session: Handle, owner: Handle, dir: Dir) -> Result<Handle, Failure> {
        let stream = self.insert_stream(Stream::local(owner, None, dir))?;
        let credit = self.sessions.get_mut(session).and_then(|state| state.credit.as_mut());
        if let Some(limit) = credit.and_then(|credit| credit.wait(dir, stream)) {
            self.with_http3(session, |http3, id| http3.streams_blocked(id, dir == Dir::Uni, limit));
        }
        Ok(stream)
    }

    /// Raises the limits of a session as the peer allows.
    pub(super) fn credit_session(&mut self, session: Handle, credit: Credit) {
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
    pub(super) fn tell_blocked(&mut self, stream: Handle, limit: Option<u64>) {
        if let Some(limit) = limit
            && let Some(session) = self.streams.get(stream).and_then(|stream| stream.session)
        {
            self.with_http3(session, |http3, id| http3.data_blocked(id, limit));
        }
    }
}
