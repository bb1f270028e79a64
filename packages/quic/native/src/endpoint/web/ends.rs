//! Ends of WebTransport sessions and of their streams.

use quinn_proto::Dir;

use super::varint;
use crate::bridge::error::Failure;
use crate::bridge::handle::{Handle, Session};
use crate::bridge::layout::Kind;
use crate::endpoint::Endpoint;
use crate::endpoint::web::state::Web;
use crate::http3::codes;
use crate::quic::connection::Phase;

impl Endpoint {
    /// Reports the end of a session to JavaScript, once, after the ends of its live streams.
    pub(in crate::endpoint) fn end_web_session(&mut self, session: Handle, failure: Failure) {
        let Some(state) = self.sessions.remove(session) else {
            return;
        };
        if state.admitted {
            self.session_over(state.connection);
        }
        let mut live = Vec::new();
        if let Some(connection) = self.connection(state.connection) {
            if let (Some(web), Some(id)) = (&mut connection.web, state.id) {
                web.sessions.remove(&id);
            }
            live.extend(connection.streams.values().copied());
            live.extend(connection.waiting(Dir::Bi).iter().copied());
            live.extend(connection.waiting(Dir::Uni).iter().copied());
        }
        live.extend(state.credit.iter().flat_map(|credit| credit.all_waiting()));
        self.close_streams_of(session, &mut live, failure);
    }

    /// Removes the session's streams from `live` and closes them.
    fn close_streams_of(&mut self, session: Handle, live: &mut Vec<Handle>, failure: Failure) {
        let number = self.number(failure);
        live.retain(|&handle| {
            let Some(stream) = self
                .streams
                .get(handle)
                .filter(|stream| stream.session == Some(session))
            else {
                return true;
            };
            if !stream.internal {
                self.queued.push_back(crate::bridge::event_batch::QueuedRecord {
                    kind: Kind::StreamClosed,
                    words: [handle.index, number, 0],
                    stream: Some(handle),
                });
            }
            false
        });
        let index = Session::WebTransport(session).handle().index;
        self.datagrams.retain(|(other, _)| *other != index);
        self.notify_session(Kind::Lost, session, number);
    }

    /// Ends the sessions of a connection that ends. Returns the remaining streams.
    pub(in crate::endpoint) fn end_web_sessions(
        &mut self,
        web: &Web,
        live: Vec<Handle>,
        failure: &Failure,
    ) -> Vec<Handle> {
        let mut live = live;
        let waiting = live.iter().filter_map(|&handle| self.streams.get(handle)?.session);
        let mut sessions: Vec<Handle> = web.sessions.values().copied().chain(waiting).collect();
        sessions.sort_by_key(|session| session.index);
        sessions.dedup();
        for session in sessions {
            if let Some(state) = self.sessions.remove(session) {
                if state.admitted {
                    self.session_over(state.connection);
                }
                live.extend(state.credit.iter().flat_map(|credit| credit.all_waiting()));
                self.close_streams_of(session, &mut live, failure.clone());
            }
        }
        live.retain(|&handle| {
            let internal = self.streams.get(handle).is_some_and(|stream| stream.internal);
            if internal {
                self.streams.remove(handle);
            }
            !internal
        });
        live
    }

    /// Releases a stream whose session has ended while its connection lives: HTTP/3 keeps it, or it is forgotten.
    pub(in crate::endpoint) fn release_orphan(&mut self, handle: Handle) {
        let Some(stream) = self.streams.get_mut(handle) else {
            return;
        };
        let index = stream.connection.index as usize;
        if stream.session.is_some()
            && let Some(Some(connection)) = self.connections.get_mut(index)
            && connection.handle == stream.connection
            && connection.phase == Phase::Live
        {
            if let (Some(id), Some(web)) = (stream.id, &connection.web)
                && web.http3.is_left(id.into())
                && !stream.finished()
            {
                stream.internal = true;
                return;
            }
            let gone = varint(codes::WT_SESSION_GONE);
            stream.reset(&mut connection.proto, gone);
            stream.stop(connection, gone);
            self.mark(index);
        }
        self.free(handle);
    }
}
