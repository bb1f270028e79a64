//! HTTP/3 on a connection: feeds the state machine and performs its actions.

mod calls;
pub mod credit;
pub mod delayed_close;
mod ends;
pub mod requests;
pub mod state;

use std::time::Instant;

use quinn_proto as qp;
use quinn_proto::{Dir, ReadError};

use crate::bridge::error::Failure;
use crate::bridge::handle::{Handle, Session};
use crate::bridge::layout::Kind;
use crate::endpoint::web::delayed_close::DelayedCloses;
use crate::endpoint::web::requests::CancelLimit;
use crate::endpoint::web::state::{Web, WebSession};
use crate::endpoint::{Endpoint, canonical};
use crate::http3::{Action, Http3, Role, codes};
use crate::quic::id_map::IdMap;

/// Converts a code. Codes of HTTP/3, and application codes mapped into it, are all below 2^62.
pub(in crate::endpoint) fn varint(code: u64) -> qp::VarInt {
    qp::VarInt::from_u64(code).unwrap_or(qp::VarInt::MAX)
}

fn stream_id(id: u64) -> qp::StreamId {
    varint(id).into()
}

impl Endpoint {
    /// Starts HTTP/3, once per connection.
    pub(in crate::endpoint) fn begin_http3(&mut self, index: usize) {
        let Some(Some(connection)) = self.connections.get_mut(index) else {
            return;
        };
        if connection.web.is_some() {
            return;
        }
        let role = if connection.incoming {
            Role::Server
        } else {
            Role::Client
        };
        let mut http3 = Http3::new(role, connection.settings.web_transport_sessions);
        if connection.incoming && connection.settings.plain_requests {
            http3.take_plain();
        }
        let preface = http3.preface();
        let handle = connection.handle;
        let control = self.open_internal(handle, Dir::Uni);
        if let Some(Some(connection)) = self.connections.get_mut(index) {
            connection.web = Some(Box::new(Web {
                http3,
                control,
                sessions: IdMap::default(),
                delayed_closes: DelayedCloses::default(),
                serves: false,
                cancels: CancelLimit::new(Instant::now()),
            }));
        }
        if let Some(control) = control {
            self.write(control, &preface, false);
        }
    }

    pub(in crate::endpoint) fn open_internal(&mut self, connection: Handle, dir: Dir) -> Option<Handle> {
        let handle = self.open_quic_stream(connection, dir).ok()?;
        self.streams.get_mut(handle)?.internal = true;
        Some(handle)
    }

    /// Lets HTTP/3 read as much of a stream as it wants; the rest stays under flow control.
    pub(in crate::endpoint) fn feed_http3(&mut self, index: usize, handle: Handle) {
        let (Some(stream), Some(Some(connection))) = (self.streams.get_mut(handle), self.connections.get_mut(index))
        else {
            return;
        };
        let connection = &mut **connection;
        let (Some(id), Some(web), true) = (stream.id, &mut connection.web, stream.receiving) else {
            return;
        };
        let number = u64::from(id);
        let mut transmit = false;
        if web.http3.appetite(number) > 0 && !stream.unread.is_empty() {
            let used = web.http3.receive(number, &stream.unread);
            drop(stream.unread.split_to(used));
        }
        if let Ok(mut chunks) = connection.proto.recv_stream(id).read(true) {
            loop {
                let appetite = web.http3.appetite(number);
                if appetite == 0 {
                    break;
                }
                match chunks.next(appetite) {
                    Ok(Some(chunk)) => {
                        let used = web.http3.receive(number, &chunk.bytes);
                        stream.unread = chunk.bytes.slice(used..);
                    }
                    Ok(None) => {
                        stream.receiving = false;
                        web.http3.finished(number);
                    }
                    Err(ReadError::Blocked) => break,
                    Err(ReadError::Reset(code)) => {
                        stream.receiving = false;
                        web.http3.reset(number, code.into_inner());
                    }
                }
                if !stream.receiving {
                    break;
                }
            }
            transmit = chunks.finalize().should_transmit();
        }
        if transmit {
            self.mark(index);
        }
        self.act_http3(index);
        self.release_internal(handle);
    }

    fn release_internal(&mut self, handle: Handle) {
        if self
            .streams
            .get(handle)
            .is_some_and(|stream| stream.internal && stream.finished())
        {
            self.free(handle);
        }
    }

    /// Handles the peer's STOP_SENDING on one of HTTP/3's own streams, or on one whose session is not known yet.
    pub(in crate::endpoint) fn internal_stopped(&mut self, index: usize, handle: Handle) {
        if let Some(Some(connection)) = self.connections.get_mut(index)
            && let Some(web) = &mut connection.web
        {
            if web.control == Some(handle) {
                web.http3.lost_critical();
            } else if let Some(id) = self.streams.get(handle).and_then(|stream| stream.id) {
                web.http3.unwanted(id.into());
            }
            self.act_http3(index);
        }
        self.release_internal(handle);
    }

    /// Handles the id of one of HTTP/3's own streams: the CONNECT stream of a session, or the control stream.
    pub(in crate::endpoint) fn internal_opened(&mut self, index: usize, handle: Handle) {
        let Some((id, session)) = self
            .streams
            .get(handle)
            .and_then(|stream| Some((stream.id?, stream.session?)))
        else {
            return;
        };
        let (Some(state), Some(Some(connection))) = (self.sessions.get_mut(session), self.connections.get_mut(index))
        else {
            return;
        };
        if let (Some(web), Some(request)) = (&mut connection.web, state.request.take()) {
            state.identify(id.into());
            web.sessions.insert(id.into(), session);
            web.http3.request(id.into(), &request);
            self.act_http3(index);
        }
    }

    /// Performs the actions that HTTP/3 has decided on.
    pub(in crate::endpoint) fn act_http3(&mut self, index: usize) {
        while let Some(Some(connection)) = self.connections.get_mut(index)
            && let Some(web) = &mut connection.web
            && let Some(action) = web.http3.poll()
        {
            let owner = connection.handle;
            let session_of = |id: u64| web.sessions.get(&id).copied();
            match action {
                Action::Write { stream, bytes, end } => {
                    if let Some(stream) = self.by_id(index, stream_id(stream)) {
                        self.write(stream, &bytes, end);
                    }
                }
                Action::Control(bytes) => {
                    if let Some(control) = web.control {
                        self.write(control, &bytes, false);
                    }
                }
                Action::Abandon { stream, code } => self.abandon_stream(index, stream, code, true),
                Action::Stop { stream, code } => self.abandon_stream(index, stream, code, false),
                Action::Adopt { stream, session } => {
                    if let Some(session) = session_of(session) {
                        self.adopt_stream(index, stream_id(stream), session);
                    }
                }
                Action::Read { stream } => {
                    if let Some(stream) = self.by_id(index, stream_id(stream)) {
                        self.feed_http3(index, stream);
                    }
                }
                Action::Asked { session, request } => {
                    let stream = connection.streams.get(&stream_id(session));
                    let stream = stream.and_then(|&handle| self.streams.get(handle));
                    if stream.is_some_and(|stream| stream.stop.is_some()) {
                        web.http3.unwanted(session);
                        continue;
                    }
                    let full = self
                        .admission
                        .as_ref()
                        .is_none_or(|it| self.admitted >= it.limits.sessions);
                    let mut state = WebSession::new(owner, Some(session), request);
                    state.limit(web.http3.credit(session));
                    if !full && let Some(handle) = self.sessions.insert(state) {
                        web.sessions.insert(session, handle);
                        self.notify_session(Kind::Asked, handle, owner.index);
                    } else {
                        self.counters.refused += 1;
                        web.http3.reject(session, 503, &Vec::new());
                    }
                }
                Action::Requested { stream, request } => self.take_request(index, stream_id(stream), request),
                Action::Refused { first } => {
                    self.notify(Kind::Draining, [owner.index, owner.generation, 0]);
                    self.refuse_requests(index, first);
                }
                Action::Granted {
                    session,
                    protocol,
                    fields,
                } => {
                    if let Some(handle) = session_of(session)
                        && let Some(state) = self.sessions.get_mut(handle)
                    {
                        state.answer = Some((protocol, fields));
                        state.limit(web.http3.credit(session));
                        self.notify_session(Kind::Connected, handle, 0);
                    }
                }
                Action::Credited { session, credit } => {
                    if let Some(handle) = session_of(session) {
                        self.credit_session(handle, credit);
                    }
                }
                Action::Draining { session } => {
                    if let Some(handle) = session_of(session) {
                        self.notify_session(Kind::Draining, handle, 0);
                    }
                }
                Action::Ended { session, end } => {
                    if let Some(handle) = session_of(session) {
                        let remote = canonical(connection.proto.remote_address());
                        self.end_web_session(handle, Failure::session_ended(end, remote));
                    }
                }
                Action::Datagram { session, payload } => {
                    if let Some(handle) = session_of(session) {
                        let admitted = self.sessions.get(handle).is_some_and(|it| !it.awaits_admission());
                        let index = Session::WebTransport(handle).handle().index;
                        if admitted {
                            self.datagrams.push_back((index, payload.into()));
                        } else {
                            connection.pending.hold_datagram(index, &payload);
                        }
                    }
                }
                Action::Idle if web.sessions.is_empty() => self.close_connection(owner, codes::NO_ERROR as u32, b""),
                Action::Idle => {}
                Action::Fail { code, why } => {
                    let remote = canonical(connection.proto.remote_address());
                    self.close_with(owner, code as u32, why.as_bytes(), Failure::http3(code, why, remote));
                }
            }
        }
        self.announce_first_of_each(index);
        self.mark(index);
    }

    pub(in crate::endpoint) fn notify_session(&mut self, kind: Kind, session: Handle, word: u32) {
        let Handle { index, generation } = Session::WebTransport(session).handle();
        self.notify(kind, [index, generation, word]);
    }

    fn abandon_stream(&mut self, index: usize, id: u64, code: u64, reset: bool) {
        let Some(handle) = self.by_id(index, stream_id(id)) else {
            return;
        };
        if let (Some(stream), Some(Some(connection))) = (self.streams.get_mut(handle), self.connections.get_mut(index))
        {
            if reset {
                stream.reset(&mut connection.proto, varint(code));
            }
            stream.stop(connection, varint(code));
        }
        self.release_internal(handle);
    }

    /// Turns a stream into one of the application.
    fn adopt_stream(&mut self, index: usize, id: qp::StreamId, session: Handle) {
        if let Some(handle) = self.by_id(index, id)
            && let Some(stream) = self.streams.get_mut(handle)
        {
            stream.internal = false;
            stream.session = Some(session);
            stream.credit = self.sessions.get(session).and_then(WebSession::data_credit);
            if let Some(state) = self.sessions.get_mut(session).filter(|it| it.awaits_admission()) {
                stream.paused = true;
                state.waiting.push(handle);
                return;
            }
            let key = Session::WebTransport(session).handle();
            self.announce(key.index, handle, id.dir());
            self.tell_stopped(handle);
            self.queue_readable(handle);
        }
    }
}
