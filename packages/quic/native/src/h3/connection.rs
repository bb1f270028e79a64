//! The state of one HTTP/3 connection. `streams.rs` takes what arrives, `session.rs` what the application wants.

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
use crate::ids::IdMap;

/// Type of the control stream, a unidirectional stream (RFC 9114 §6.2.1).
pub const CONTROL: u64 = 0x00;
/// Types of a session's streams: unidirectional, and bidirectional.
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
    /// By the peer, with CLOSE_WEBTRANSPORT_SESSION or, without a word, by FIN: code 0.
    Closed { code: u32, reason: String },
    /// The server's answer was not 2xx.
    Rejected { status: u16 },
    /// Its stream was reset with this HTTP/3 code, or the peer broke the rules.
    Gone { code: u64 },
    /// The peer cannot have sessions, or no more of them.
    Unavailable { why: &'static str },
}

/// Action that the state machine asks of its driver. Streams and sessions go by QUIC stream id; a session's is that of its CONNECT stream.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    Write {
        stream: u64,
        bytes: Vec<u8>,
        end: bool,
    },
    /// Bytes to send on the control stream, which is the driver's to open.
    Control(Vec<u8>),
    /// RESET_STREAM where this side sends, STOP_SENDING where it receives; nothing more is said of the stream.
    Abandon {
        stream: u64,
        code: u64,
    },
    /// STOP_SENDING.
    Stop {
        stream: u64,
        code: u64,
    },
    /// Gives the stream's further bytes to the session.
    Adopt {
        stream: u64,
        session: u64,
    },
    /// A client asks for a session; `accept` or `reject` answers.
    Asked {
        session: u64,
        request: Request,
    },
    /// A client asks for plain HTTP. From here on the stream's bytes are frames of the body, for `Body` to read; `request_over` is to
    /// follow, or `refuse` or `reject_plain`.
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
    /// The peer allows a session's streams more than before.
    Credited {
        session: u64,
        credit: Credit,
    },
    /// A stream that was not read, since SETTINGS were missing, is to be.
    Read {
        stream: u64,
    },
    Ended {
        session: u64,
        end: End,
    },
    /// One that arrived before its session.
    Datagram {
        session: u64,
        payload: Vec<u8>,
    },
    /// A client's last session is over and the peer knows.
    Idle,
    /// The connection is to be closed with this code.
    Fail {
        code: u64,
        why: &'static str,
    },
}

pub struct Http3 {
    pub(super) role: Role,
    pub(super) max_sessions: usize,
    /// Server: requests of plain HTTP are taken, rather than answered with 404.
    pub(super) takes_plain: bool,
    /// Those that are not over.
    pub(super) plain: usize,
    pub(super) peer: Option<Settings>,
    pub(super) streams: IdMap<u64, Stream>,
    pub(super) sessions: BTreeMap<u64, Box<Session>>,
    pub(super) held: Held,
    /// The peer's control, QPACK encoder and QPACK decoder streams that exist.
    pub(super) critical: [bool; 3],
    /// The id of the client's next request.
    pub(super) next_request: u64,
    /// Requests that wait for the server's SETTINGS.
    pub(super) unsent: Vec<(u64, Request)>,
    /// The first request id that GOAWAY refuses, said by either side.
    pub(super) goaway: Option<u64>,
    pub(super) actions: VecDeque<Action>,
    pub(super) failed: bool,
    /// The driver knows that it failed.
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

    /// Server: takes requests of plain HTTP.
    pub fn take_plain(&mut self) {
        self.takes_plain = true;
    }

    /// Requests of plain HTTP that are not over.
    pub fn plain_requests(&self) -> usize {
        self.plain
    }

    /// The first bytes of the control stream. QPACK streams are not needed without a dynamic table (RFC 9204 §4.2).
    pub fn preface(&self) -> Vec<u8> {
        let mut bytes = vec![CONTROL as u8];
        bytes.extend(settings::encode(self.max_sessions as u64));
        bytes
    }

    /// After `Fail` there is nothing more.
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

    /// Whether the peer takes HTTP datagrams.
    pub fn sends_datagrams(&self) -> bool {
        self.peer.is_some_and(|settings| settings.datagrams)
    }

    /// A datagram arrived: its session and where its payload begins, if that session is open.
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
