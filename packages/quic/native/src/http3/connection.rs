//! The state of one HTTP/3 connection. `streams.rs` processes received data, `session.rs` the application's requests.

use std::collections::{BTreeMap, VecDeque};

use super::credit::Credit;
use super::fields::Fields;
use super::held::Held;
use super::plain::PlainRequest;
use super::request::Request;
use super::session::Session;
use super::settings::{self, Settings};
use super::streams::Stream;
use super::{codes, varint};
use crate::quic::id_map::IdMap;

/// Type of the control stream, a unidirectional stream (RFC 9114 §6.2.1).
pub const CONTROL: u64 = 0x00;
/// Types of a session's streams: unidirectional and bidirectional.
pub const WT_UNI: u64 = 0x54;
pub const WT_BIDI: u64 = 0x41;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Client,
    Server,
}

/// How a session ended.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// Closed by the peer, with CLOSE_WEBTRANSPORT_SESSION or with only FIN: code 0.
    Closed { code: u32, reason: String },
    /// The server's response was not 2xx.
    Rejected { status: u16 },
    /// The session's stream was reset with this HTTP/3 code, or the peer violated the protocol.
    Gone { code: u64 },
    /// The peer does not support sessions, or accepts no more of them.
    Unavailable { why: &'static str },
}

/// Action that the state machine requests from its driver. Streams are identified by QUIC stream id, sessions by the id
/// of their CONNECT stream.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    Write {
        stream: u64,
        bytes: Vec<u8>,
        end: bool,
    },
    /// Bytes to send on the control stream, which the driver opens.
    Control(Vec<u8>),
    /// RESET_STREAM for the sending direction, STOP_SENDING for the receiving one; no further action follows for the
    /// stream.
    Abandon {
        stream: u64,
        code: u64,
    },
    /// Send STOP_SENDING.
    Stop {
        stream: u64,
        code: u64,
    },
    /// Deliver the stream's further bytes to the session.
    Adopt {
        stream: u64,
        session: u64,
    },
    /// A client requests a session; answer with `accept` or `reject`.
    Asked {
        session: u64,
        request: Request,
    },
    /// A client sends a request of plain HTTP. The stream's further bytes are frames of the body, to be read with
    /// `Message`; then call `request_over`, `refuse` or `reject_plain`.
    Requested {
        stream: u64,
        request: PlainRequest,
    },
    /// A server granted a session.
    Granted {
        session: u64,
        protocol: Option<String>,
        fields: Fields,
    },
    Draining {
        session: u64,
    },
    /// The server processes no requests from this stream id on (GOAWAY).
    Refused {
        first: u64,
    },
    /// The peer raises limits of a session.
    Credited {
        session: u64,
        credit: Credit,
    },
    /// A stream that was not read because SETTINGS were missing can be read now.
    Read {
        stream: u64,
    },
    Ended {
        session: u64,
        end: End,
    },
    /// A datagram that arrived before its session.
    Datagram {
        session: u64,
        payload: Vec<u8>,
    },
    /// A client's last session has ended and the peer has acknowledged it.
    Idle,
    /// Close the connection with this code.
    Fail {
        code: u64,
        why: &'static str,
    },
}

pub struct Http3 {
    pub(super) role: Role,
    pub(super) max_sessions: usize,
    /// Server: requests of plain HTTP are accepted, rather than answered with 404.
    pub(super) takes_plain: bool,
    /// Number of unfinished requests of plain HTTP.
    pub(super) plain: usize,
    pub(super) peer: Option<Settings>,
    pub(super) streams: IdMap<u64, Stream>,
    pub(super) sessions: BTreeMap<u64, Box<Session>>,
    pub(super) held: Held,
    /// Whether the peer's control, QPACK encoder and QPACK decoder streams exist.
    pub(super) critical: [bool; 3],
    /// The id of the client's next request.
    pub(super) next_request: u64,
    /// Requests that wait for the server's SETTINGS.
    pub(super) unsent: Vec<(u64, Request)>,
    /// The first request id that a GOAWAY of either side refuses.
    pub(super) goaway: Option<u64>,
    pub(super) actions: VecDeque<Action>,
    pub(super) failed: bool,
    /// Whether the driver has received `Fail`.
    told: bool,
}

impl Http3 {
    pub fn new(role: Role, max_sessions: usize) -> Self {
        Http3 {
            role,
            max_sessions,
            takes_plain: false,
            plain: 0,
            peer: None,
            streams: IdMap::default(),
            sessions: BTreeMap::new(),
            held: Held::default(),
            critical: [false; 3],
            next_request: 0,
            unsent: Vec::new(),
            goaway: None,
            actions: VecDeque::new(),
            failed: false,
            told: false,
        }
    }

    /// Server: accepts requests of plain HTTP from now on.
    pub fn take_plain(&mut self) {
        self.takes_plain = true;
    }

    /// Whether either side has sent GOAWAY.
    pub fn is_leaving(&self) -> bool {
        self.goaway.is_some()
    }

    /// Number of unfinished requests of plain HTTP.
    pub fn plain_requests(&self) -> usize {
        self.plain
    }

    /// The first bytes of the control stream. QPACK streams are not needed without a dynamic table (RFC 9204 §4.2).
    pub fn preface(&self) -> Vec<u8> {
        let mut bytes = vec![CONTROL as u8];
        bytes.extend(settings::encode(self.max_sessions as u64));
        bytes
    }

    /// Returns the next action; nothing follows `Fail`.
    pub fn poll(&mut self) -> Option<Action> {
        let action = self.actions.pop_front().filter(|_| !self.told);
        self.told |= matches!(action, Some(Action::Fail { .. }));
        action
    }

    /// The first bytes of a stream that this side opens for a session.
    pub fn stream_header(session: u64, unidirectional: bool) -> Vec<u8> {
        let mut header = Vec::with_capacity(10);
        varint::put(if unidirectional { WT_UNI } else { WT_BIDI }, &mut header);
        varint::put(session, &mut header);
        header
    }

    /// The first bytes of a session's datagrams: its id divided by four (RFC 9297 §2.1).
    pub fn datagram_header(session: u64) -> Vec<u8> {
        let mut header = Vec::with_capacity(8);
        varint::put(session / 4, &mut header);
        header
    }

    /// Whether the peer accepts HTTP datagrams.
    pub fn sends_datagrams(&self) -> bool {
        self.peer.is_some_and(|settings| settings.datagrams)
    }

    /// Handles a datagram. Returns its session and the offset of its payload, if that session is open.
    pub fn datagram(&mut self, datagram: &[u8]) -> Option<(u64, usize)> {
        if self.failed {
            return None;
        }
        let mut payload = datagram;
        let Some(session) = varint::take(&mut payload).and_then(|quarter| quarter.checked_mul(4)) else {
            self.fail(codes::DATAGRAM_ERROR, "a datagram without a stream id");
            return None;
        };
        if session >= 1 << 62 {
            self.fail(codes::DATAGRAM_ERROR, "a datagram of an impossible stream id");
            return None;
        }
        if self.sessions.get(&session).is_some_and(|session| session.is_open()) {
            return Some((session, datagram.len() - payload.len()));
        }
        if self.may_come(session) {
            self.held.datagram(session, payload);
        }
        None
    }

    pub(super) fn fail(&mut self, code: u64, why: &'static str) {
        if !self.failed {
            self.failed = true;
            self.actions.push_back(Action::Fail { code, why });
        }
    }
}
