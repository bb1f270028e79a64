//! The peer's streams: detects their kinds and reads or hands over their data.

use super::codes;
use super::connection::{Action, CONTROL, End, Http3, Role, WT_BIDI, WT_UNI};
use super::frames::{self, FrameReader, Piece};
use super::limits::{OPENING_REQUESTS, REQUESTS};
use super::plain::{PlainRequest, head};
use super::request::{Verdict, judge};
use super::settings::Settings;
use super::varint::{self, Partial};

const PUSH: u64 = 0x01;
const QPACK_ENCODER: u64 = 0x02;
const QPACK_DECODER: u64 = 0x03;

/// Enough for a stream's type and session id; unread bytes stay under QUIC's flow control.
const HEADER_BYTES: usize = 16;
const READ_BYTES: usize = 16 * 1024;

#[derive(Debug)]
pub enum Stream {
    /// Waits for the first integer or, for a session's stream, the second.
    Opening {
        integer: Partial,
        belongs: bool,
    },
    Control(FrameReader),
    /// Read and ignored: a table of capacity 0 needs no instructions.
    Qpack,
    /// Server: HEADERS are arriving.
    Request(FrameReader),
    /// The CONNECT stream of a session that is requested or open.
    Session(FrameReader),
    /// The CONNECT stream after the session's end, until the peer's FIN.
    Closing,
    /// A stream of a session that is not open yet; it is not read.
    Held,
    /// A stream of a session that this side has closed; it is not read, and not reset before the peer's FIN on the
    /// CONNECT stream.
    Left {
        session: u64,
    },
}

fn unidirectional(stream: u64) -> bool {
    stream & 2 != 0
}

impl Http3 {
    /// Handles a stream that the peer has opened.
    pub fn opened(&mut self, stream: u64) {
        if self.role == Role::Server && !unidirectional(stream) {
            self.next_request = self.next_request.max(stream + 4);
        }
        let opening = Stream::Opening {
            integer: Partial::default(),
            belongs: false,
        };
        self.streams.insert(stream, opening);
    }

    /// Whether the peer opened a bidirectional stream before this one whose kind is not known yet.
    pub fn undecided_before(&self, stream: u64) -> bool {
        self.streams
            .iter()
            .any(|(&id, state)| id < stream && !unidirectional(id) && matches!(state, Stream::Opening { .. }))
    }

    /// Maximum number of bytes of a stream to read for `receive` now.
    pub fn appetite(&self, stream: u64) -> usize {
        match self.streams.get(&stream) {
            None | Some(Stream::Held | Stream::Left { .. }) => 0,
            _ if self.failed => 0,
            // A client's SETTINGS determine the meaning of its requests (draft §9.1).
            Some(Stream::Request(_)) if self.peer.is_none() => 0,
            Some(Stream::Opening { .. }) => HEADER_BYTES,
            Some(_) => READ_BYTES,
        }
    }

    /// Handles bytes of a stream. Returns the number used; the rest belongs to the session that adopts the stream.
    pub fn receive(&mut self, stream: u64, data: &[u8]) -> usize {
        let mut input = data;
        while !input.is_empty() && self.appetite(stream) > 0 {
            self.step(stream, &mut input);
        }
        data.len() - input.len()
    }

    fn step(&mut self, id: u64, input: &mut &[u8]) {
        match self.streams.get_mut(&id) {
            Some(Stream::Opening { integer, belongs }) => {
                let belongs = *belongs;
                match integer.take(input) {
                    None => {}
                    Some(session) if belongs => self.belongs(id, session),
                    Some(kind) => self.classify(id, kind),
                }
            }
            Some(Stream::Control(reader)) => match reader.next(input) {
                Ok(None) => {}
                Ok(Some(piece)) => {
                    let piece = owned(piece);
                    self.control(piece);
                }
                Err(code) => self.fail(code, "a control frame that is not allowed"),
            },
            Some(Stream::Request(reader) | Stream::Session(reader)) => match reader.next(input) {
                Ok(None) => {}
                Ok(Some(Piece::Data(data))) => self.data(id, data),
                Ok(Some(Piece::Frame(kind, payload))) => self.message(id, kind, &payload),
                Ok(Some(Piece::Unknown)) => {}
                Err(code) => self.fail(code, "a frame that is not allowed on a request"),
            },
            _ => *input = &[],
        }
    }

    fn classify(&mut self, id: u64, kind: u64) {
        if kind == if unidirectional(id) { WT_UNI } else { WT_BIDI } {
            if let Some(Stream::Opening { belongs, .. }) = self.streams.get_mut(&id) {
                *belongs = true;
            }
        } else if unidirectional(id) {
            self.classify_unidirectional(id, kind);
        } else if self.role == Role::Client {
            self.fail(
                codes::STREAM_CREATION_ERROR,
                "the server opened a stream that does not belong to a session",
            );
        } else if self.goaway.is_some_and(|first| id >= first) {
            self.abandon(id, codes::REQUEST_REJECTED);
            self.refuse_held(id, codes::WT_SESSION_GONE);
        } else {
            let opening = |stream: &&Stream| matches!(stream, Stream::Request(_));
            if self.streams.values().filter(opening).count() >= OPENING_REQUESTS {
                self.abandon(id, codes::REQUEST_REJECTED);
                self.refuse_held(id, codes::WT_SESSION_GONE);
                return;
            }
            self.streams.insert(id, Stream::Request(FrameReader::after_kind(kind)));
        }
    }

    fn classify_unidirectional(&mut self, id: u64, kind: u64) {
        let (place, stream) = match kind {
            CONTROL => (0, Stream::Control(FrameReader::default())),
            QPACK_ENCODER => (1, Stream::Qpack),
            QPACK_DECODER => (2, Stream::Qpack),
            PUSH if self.role == Role::Server => {
                return self.fail(codes::STREAM_CREATION_ERROR, "a client cannot push");
            }
            PUSH => return self.fail(codes::ID_ERROR, "a push that was not allowed"),
            _ => return self.abandon(id, codes::STREAM_CREATION_ERROR),
        };
        if std::mem::replace(&mut self.critical[place], true) {
            return self.fail(codes::STREAM_CREATION_ERROR, "a second control or QPACK stream");
        }
        self.streams.insert(id, stream);
    }

    /// Assigns a stream to the session that its header names.
    fn belongs(&mut self, id: u64, session: u64) {
        if session & 3 != 0 {
            return self.fail(codes::ID_ERROR, "a session id that is not the id of a request stream");
        }
        // This stream is not a session itself.
        self.refuse_held(id, codes::WT_SESSION_GONE);
        if self.sessions.get(&session).is_some_and(|session| session.is_open()) {
            self.streams.remove(&id);
            self.actions.push_back(Action::Adopt { stream: id, session });
        } else if self.is_closing(session) {
            self.leave(session, id);
        } else if !self.may_come(session) || session == id {
            self.abandon(id, codes::WT_SESSION_GONE);
        } else if self.held.stream(session, id) {
            self.streams.insert(id, Stream::Held);
        } else {
            self.abandon(id, codes::WT_BUFFERED_STREAM_REJECTED);
        }
    }

    /// Whether a session may still be opened, rather than having ended.
    pub(super) fn may_come(&self, session: u64) -> bool {
        if self.sessions.contains_key(&session) {
            return true;
        }
        self.role == Role::Server
            && (session >= self.next_request
                || matches!(
                    self.streams.get(&session),
                    Some(Stream::Opening { .. } | Stream::Request(_))
                ))
    }

    fn control(&mut self, piece: Piece<'_>) {
        match piece {
            Piece::Frame(frames::SETTINGS, payload) if self.peer.is_none() => match Settings::parse(&payload) {
                Ok(settings) => {
                    self.peer = Some(settings);
                    self.send_requests();
                    self.read_requests();
                }
                Err(code) => self.fail(code, "SETTINGS that are not allowed"),
            },
            _ if self.peer.is_none() => self.fail(codes::MISSING_SETTINGS, "the control stream began without SETTINGS"),
            Piece::Frame(frames::GOAWAY, payload) => {
                let mut rest = &payload[..];
                match varint::take(&mut rest) {
                    Some(first) if rest.is_empty() => {
                        // A client's GOAWAY limits pushes, which are not used.
                        if self.role == Role::Client {
                            self.refused_from(first);
                        }
                    }
                    _ => self.fail(codes::FRAME_ERROR, "a malformed GOAWAY"),
                }
            }
            Piece::Frame(frames::CANCEL_PUSH, _) | Piece::Unknown => {}
            Piece::Frame(frames::MAX_PUSH_ID, _) if self.role == Role::Server => {}
            _ => self.fail(
                codes::FRAME_UNEXPECTED,
                "a frame that does not belong on the control stream",
            ),
        }
    }

    /// Server: reads the requests that arrived before the client's SETTINGS.
    fn read_requests(&mut self) {
        let request = |stream: &Stream| matches!(stream, Stream::Request(_));
        let mut waiting: Vec<u64> = self
            .streams
            .iter()
            .filter(|(_, stream)| request(stream))
            .map(|(&id, _)| id)
            .collect();
        waiting.sort_unstable();
        let read = waiting.into_iter().map(|stream| Action::Read { stream });
        self.actions.extend(read);
    }

    fn data(&mut self, id: u64, data: &[u8]) {
        match self.sessions.get(&id) {
            // A server reads capsules before it has answered: the client may send them at once.
            Some(session) if session.is_open() || self.role == Role::Server => self.capsules(id, data),
            _ => self.fail(codes::FRAME_UNEXPECTED, "DATA before HEADERS"),
        }
    }

    fn message(&mut self, id: u64, kind: u64, payload: &[u8]) {
        let session = self.sessions.get(&id);
        match kind {
            frames::HEADERS if self.role == Role::Server && session.is_none() => match judge(payload, self.takes_plain)
            {
                Ok(Verdict::Session(request)) => {
                    if let Some(stream) = self.streams.get_mut(&id)
                        && let Stream::Request(reader) = stream
                    {
                        *stream = Stream::Session(std::mem::take(reader));
                    }
                    self.asked(id, request);
                }
                Ok(Verdict::Plain(request)) => self.requested(id, request),
                Ok(Verdict::Answer(bytes)) => self.answer(id, bytes),
                Ok(Verdict::Malformed(code)) => {
                    self.abandon(id, code);
                    self.refuse_held(id, codes::WT_SESSION_GONE);
                }
                Err(code) => self.fail(code, "a field section that cannot be decoded"),
            },
            frames::HEADERS if session.is_some_and(|session| !session.is_open()) && self.role == Role::Client => {
                self.answered(id, payload);
            }
            _ => self.fail(
                codes::FRAME_UNEXPECTED,
                "a frame that does not belong on a session's stream",
            ),
        }
    }

    /// Server: handles the head of a request of plain HTTP. Further bytes of the stream are its body.
    fn requested(&mut self, stream: u64, request: PlainRequest) {
        self.streams.remove(&stream);
        self.refuse_held(stream, codes::WT_BUFFERED_STREAM_REJECTED);
        if self.plain >= REQUESTS {
            self.abandon(stream, codes::REQUEST_REJECTED);
            return;
        }
        self.plain += 1;
        self.actions.push_back(Action::Requested { stream, request });
    }

    /// Server: notes that a request of plain HTTP has ended, with or without a response.
    pub fn request_over(&mut self) {
        self.plain -= 1;
    }

    /// Server: answers a request of plain HTTP that the application does not accept, and ends it.
    pub fn refuse(&mut self, stream: u64, status: u16) {
        self.request_over();
        self.answer(stream, head(status, &Vec::new()));
    }

    /// Server: resets a request of plain HTTP that the application does not accept, and ends it.
    pub fn reject_plain(&mut self, stream: u64, code: u64) {
        self.request_over();
        self.abandon(stream, code);
    }

    /// Handles a violation of the protocol on a stream that the driver reads.
    pub fn violated(&mut self, code: u64, why: &'static str) {
        self.fail(code, why);
    }

    /// Handles the peer's FIN.
    pub fn finished(&mut self, id: u64) {
        match self.streams.remove(&id) {
            _ if self.failed => {}
            None => {}
            Some(Stream::Opening { .. } | Stream::Request(_)) => {
                self.abandon(id, codes::MESSAGE_ERROR);
                self.refuse_held(id, codes::WT_SESSION_GONE);
            }
            Some(Stream::Control(_) | Stream::Qpack) => self.lost_critical(),
            Some(Stream::Session(reader)) => {
                let Some(session) = self.sessions.get(&id) else { return };
                if !reader.at_boundary() {
                    self.fail(codes::FRAME_ERROR, "a stream that ends within a frame");
                } else if !session.capsules.at_boundary() || (self.role == Role::Client && !session.is_open()) {
                    let code = codes::MESSAGE_ERROR;
                    self.abandon_session(id, code, End::Gone { code });
                } else {
                    let reason = String::new();
                    self.ended(id, End::Closed { code: 0, reason });
                }
            }
            Some(Stream::Closing) => self.parted(id),
            // Not read, so they cannot end.
            Some(Stream::Held | Stream::Left { .. }) => {}
        }
    }

    /// Handles the peer's RESET_STREAM.
    pub fn reset(&mut self, id: u64, code: u64) {
        match self.streams.remove(&id) {
            _ if self.failed => {}
            None => {}
            Some(Stream::Control(_) | Stream::Qpack) => self.lost_critical(),
            Some(Stream::Session(_)) => self.abandon_session(id, codes::REQUEST_CANCELLED, End::Gone { code }),
            Some(Stream::Closing) => self.parted(id),
            Some(_) => {
                self.abandon(id, codes::REQUEST_CANCELLED);
                self.refuse_held(id, codes::WT_SESSION_GONE);
            }
        }
    }

    /// Handles the peer's STOP_SENDING, which cancels an unanswered request (RFC 9114 §4.1.1). An open session ends
    /// with the peer's own direction of the stream, which carries the reason.
    pub fn unwanted(&mut self, id: u64) {
        let code = codes::REQUEST_CANCELLED;
        match self.streams.get(&id) {
            _ if self.failed || self.role == Role::Client => {}
            Some(Stream::Request(_)) => {
                self.abandon(id, code);
                self.refuse_held(id, codes::WT_SESSION_GONE);
            }
            Some(Stream::Session(_)) if self.sessions.get(&id).is_some_and(|session| !session.is_open()) => {
                self.abandon_session(id, code, End::Gone { code });
            }
            _ => {}
        }
    }

    /// Handles the peer's STOP_SENDING on this side's control stream.
    pub fn lost_critical(&mut self) {
        self.fail(codes::CLOSED_CRITICAL_STREAM, "a control or QPACK stream was closed");
    }

    pub(super) fn abandon(&mut self, stream: u64, code: u64) {
        self.streams.remove(&stream);
        self.actions.push_back(Action::Abandon { stream, code });
    }
}

/// Makes a piece of the control stream owned. Frames are owned already; DATA is not allowed there.
fn owned(piece: Piece<'_>) -> Piece<'static> {
    match piece {
        Piece::Frame(kind, payload) => Piece::Frame(kind, payload),
        Piece::Data(_) => Piece::Data(&[]),
        Piece::Unknown => Piece::Unknown,
    }
}
