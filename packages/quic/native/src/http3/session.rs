//! Sessions: requesting, granting and refusing them, and the capsules on their streams.

use super::capsule::{self, Capsule, CapsuleReader};
use super::connection::{Action, End, Http3};
use super::credit::{self, Credit};
use super::fields::{Fields, find, headers_frame, response, with_status};
use super::frames::FrameReader;
use super::qpack::Undecodable;
use super::request::Request;
use super::streams::Stream;
use super::{codes, protocols, qpack};

#[derive(Debug, PartialEq, Eq)]
enum Phase {
    /// Requested: either side waits for the server's response.
    Asked,
    Open,
}

#[derive(Debug)]
pub struct Session {
    phase: Phase,
    pub(super) capsules: CapsuleReader,
    /// The client's subprotocols.
    offered: Vec<String>,
    pub(super) draining: bool,
    /// The peer's limits, if flow control applies.
    credit: Option<Credit>,
}

impl Session {
    fn new(offered: Vec<String>) -> Self {
        Session {
            phase: Phase::Asked,
            capsules: CapsuleReader::default(),
            offered,
            draining: false,
            credit: None,
        }
    }

    pub fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }
}

impl Http3 {
    /// Client: requests a session on `stream`, once the server's SETTINGS have arrived.
    pub fn request(&mut self, stream: u64, request: &Request) {
        self.sessions
            .insert(stream, Session::new(request.protocols.clone()).into());
        self.streams.insert(stream, Stream::Session(FrameReader::default()));
        self.unsent.push((stream, request.clone()));
        if self.peer.is_some() {
            self.send_requests();
        }
    }

    /// Client: sends the waiting requests after the server's SETTINGS have arrived.
    pub(super) fn send_requests(&mut self) {
        let recent = self.peer.is_some_and(|peer| peer.only_recent);
        let why = match self.peer {
            Some(peer) if !peer.webtransport => Some("the server speaks HTTP/3 but offers no WebTransport"),
            _ if self.goaway.is_some() => Some("the server takes no more sessions on this connection (GOAWAY)"),
            _ => None,
        };
        for (stream, request) in std::mem::take(&mut self.unsent) {
            // Closed in the meantime.
            if !self.sessions.contains_key(&stream) {
                continue;
            }
            match why {
                None => self.actions.push_back(Action::Write {
                    stream,
                    bytes: request.encode(recent),
                    end: false,
                }),
                Some(why) => self.abandon_session(stream, codes::REQUEST_CANCELLED, End::Unavailable { why }),
            }
        }
    }

    /// Server: handles a well-formed request for a session.
    pub(super) fn asked(&mut self, stream: u64, request: Request) {
        if self.sessions.len() >= self.max_sessions {
            self.answer(stream, headers_frame(&with_status(429, &[])));
            return;
        }
        let mut state = Session::new(Vec::new());
        state.credit = self.peer.and_then(|peer| peer.credit);
        self.sessions.insert(stream, state.into());
        let session = stream;
        self.actions.push_back(Action::Asked { session, request });
    }

    /// Returns the peer's limits for a session's streams, if the session may reach one of them.
    pub fn credit(&self, session: u64) -> Option<Credit> {
        let credit = self.sessions.get(&session)?.credit;
        credit.filter(Credit::is_scarce)
    }

    /// Reports to the peer that its limit of data blocks a session.
    pub fn data_blocked(&mut self, session: u64, limit: u64) {
        self.write_capsule(session, capsule::data_blocked(limit));
    }

    /// Reports to the peer that its limit of streams blocks a session.
    pub fn streams_blocked(&mut self, session: u64, unidirectional: bool, limit: u64) {
        self.write_capsule(session, capsule::streams_blocked(unidirectional, limit));
    }

    pub(super) fn write_capsule(&mut self, session: u64, bytes: Vec<u8>) {
        if self.sessions.get(&session).is_some_and(|session| session.is_open()) {
            self.actions.push_back(Action::Write {
                stream: session,
                bytes,
                end: false,
            });
        }
    }

    /// Limits in capsules, for peers that may ignore those in SETTINGS.
    fn initial_capsules(&self) -> Option<Vec<u8>> {
        self.peer
            .is_some_and(|peer| peer.wants_capsules)
            .then(|| capsule::grant(credit::GRANTED))
    }

    /// Server: sends a whole response without opening a session. Further data of the client is not read.
    pub(super) fn answer(&mut self, stream: u64, bytes: Vec<u8>) {
        self.streams.remove(&stream);
        self.actions.push_back(Action::Write {
            stream,
            bytes,
            end: true,
        });
        let code = codes::NO_ERROR;
        self.actions.push_back(Action::Stop { stream, code });
        self.refuse_held(stream, codes::WT_BUFFERED_STREAM_REJECTED);
    }

    /// Server: grants a session. Does nothing if it has ended.
    pub fn accept(&mut self, session: u64, protocol: Option<&str>, fields: &Fields) {
        let Some(Session {
            phase: phase @ Phase::Asked,
            ..
        }) = self.sessions.get_mut(&session).map(Box::as_mut)
        else {
            return;
        };
        *phase = Phase::Open;
        let mut all = with_status(200, fields);
        all.push(("sec-webtransport-http3-draft".to_owned(), "draft02".to_owned()));
        if let Some(protocol) = protocol {
            all.push((protocols::CHOSEN.to_owned(), protocols::encode_item(protocol)));
        }
        let mut bytes = headers_frame(&all);
        bytes.extend(self.initial_capsules().unwrap_or_default());
        self.actions.push_back(Action::Write {
            stream: session,
            bytes,
            end: false,
        });
        self.release_held(session);
    }

    /// Server: refuses a session with an HTTP status.
    pub fn reject(&mut self, session: u64, status: u16, fields: &Fields) {
        if self.sessions.get(&session).is_some_and(|session| !session.is_open()) {
            self.sessions.remove(&session);
            self.answer(session, headers_frame(&with_status(status, fields)));
        }
    }

    /// Client: handles the HEADERS of a response.
    pub(super) fn answered(&mut self, stream: u64, section: &[u8]) {
        let fields = match qpack::decode(section) {
            Ok(fields) => fields,
            Err(Undecodable::TooLarge) => {
                let code = codes::EXCESSIVE_LOAD;
                return self.abandon_session(stream, code, End::Gone { code });
            }
            Err(Undecodable::Malformed) => {
                return self.fail(
                    codes::QPACK_DECOMPRESSION_FAILED,
                    "a field section that cannot be decoded",
                );
            }
        };
        let Some((status, fields)) = response(fields) else {
            let code = codes::MESSAGE_ERROR;
            return self.abandon_session(stream, code, End::Gone { code });
        };
        match status {
            100..200 => {}
            200..300 => self.granted(stream, fields),
            _ => self.abandon_session(stream, codes::NO_ERROR, End::Rejected { status }),
        }
    }

    fn granted(&mut self, session: u64, fields: Fields) {
        let credit = self.peer.and_then(|peer| peer.credit);
        let Some(state) = self.sessions.get_mut(&session) else {
            return;
        };
        state.phase = Phase::Open;
        state.credit = credit;
        let chosen = find(&fields, protocols::CHOSEN).and_then(protocols::parse_item);
        let protocol = chosen.filter(|name| state.offered.contains(name));
        self.actions.push_back(Action::Granted {
            session,
            protocol,
            fields,
        });
        if let Some(bytes) = self.initial_capsules() {
            self.write_capsule(session, bytes);
        }
        self.release_held(session);
    }

    /// Handles bytes of the session's DATA frames.
    pub(super) fn capsules(&mut self, session: u64, mut data: &[u8]) {
        while let Some(state) = self.sessions.get_mut(&session) {
            match state.capsules.next(&mut data) {
                Ok(None) => return,
                Ok(Some(Capsule::Drain)) => self.draining(session),
                Ok(Some(Capsule::MaxData(limit))) => self.credited(session, |credit| (&mut credit.data, limit)),
                Ok(Some(Capsule::MaxStreams(direction, limit))) => {
                    self.credited(session, |credit| (&mut credit.streams[direction], limit));
                }
                Ok(Some(Capsule::Blocked)) => {}
                Ok(Some(Capsule::Close { code, reason })) => {
                    self.streams.insert(session, Stream::Closing);
                    self.ended(session, End::Closed { code, reason });
                }
                Err(code) => self.abandon_session(session, code, End::Gone { code }),
            }
        }
    }

    /// Handles a new value of one of the peer's limits. It is ignored without flow control; drafts before 16 allow
    /// repeated values.
    fn credited(&mut self, session: u64, pick: impl FnOnce(&mut Credit) -> (&mut u64, u64)) {
        let Some(Some(credit)) = self.sessions.get_mut(&session).map(|state| &mut state.credit) else {
            return;
        };
        let (known, limit) = pick(credit);
        let before = std::mem::replace(known, limit);
        let credit = *credit;
        if limit < before {
            let code = codes::WT_FLOW_CONTROL_ERROR;
            self.abandon_session(session, code, End::Gone { code });
        } else if limit > before {
            self.actions.push_back(Action::Credited { session, credit });
        }
    }

    fn release_held(&mut self, session: u64) {
        let (streams, datagrams) = self.held.release(session);
        for stream in streams {
            self.streams.remove(&stream);
            self.actions.push_back(Action::Adopt { stream, session });
        }
        for payload in datagrams {
            self.actions.push_back(Action::Datagram { session, payload });
        }
    }
}
