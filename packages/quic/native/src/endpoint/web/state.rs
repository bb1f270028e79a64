//! State of HTTP/3 on a connection, and of its WebTransport sessions.

use std::rc::Rc;

use bytes::Bytes;

use crate::bridge::handle::Handle;
use crate::endpoint::web::credit::{DataCredit, SessionCredit};
use crate::endpoint::web::delayed_close::DelayedCloses;
use crate::endpoint::web::requests::CancelLimit;
use crate::http3::{Credit, Fields, Http3, Request};
use crate::quic::id_map::IdMap;

/// HTTP/3 on one connection.
pub struct Web {
    pub http3: Http3,
    /// This side's control stream.
    pub control: Option<Handle>,
    /// The WebTransport sessions, by the id of their CONNECT stream.
    pub sessions: IdMap<u64, Handle>,
    /// At a server: ends of sessions that are sent to pages with a delay.
    pub delayed_closes: DelayedCloses,
    /// At a server, whether a request of plain HTTP has made the connection count as a session.
    pub serves: bool,
    pub cancels: CancelLimit,
}

/// A WebTransport session.
pub struct WebSession {
    /// The connection that carries it.
    pub connection: Handle,
    /// The id of its CONNECT stream. A client's is unknown while the server's stream limit is reached.
    pub id: Option<u64>,
    /// The first bytes of its streams: bidirectional, unidirectional.
    pub headers: [Bytes; 2],
    /// The request, until it is sent, or until JavaScript has read it.
    pub request: Option<Request>,
    /// The server's response, until JavaScript has read it: subprotocol and header fields.
    pub answer: Option<(Option<String>, Fields)>,
    /// Whether the peer is the client that requested the session.
    incoming: bool,
    /// Whether that client is a browser page.
    pub of_page: bool,
    /// At a server, whether it is admitted: its streams reach JavaScript, and it counts.
    pub admitted: bool,
    /// Streams that wait for the session's admission.
    pub waiting: Vec<Handle>,
    /// Whether the first bidirectional stream is announced before admission, because it carries the client's greeting.
    pub greeting: bool,
    /// The peer's limits of streams and bytes; `None` if it does not set any that the session may reach.
    pub credit: Option<Box<SessionCredit>>,
}

impl WebSession {
    pub fn new(connection: Handle, id: Option<u64>, request: Request) -> Self {
        let mut session = WebSession {
            connection,
            id: None,
            headers: Default::default(),
            of_page: id.is_some() && request.is_of_page(),
            request: Some(request),
            answer: None,
            incoming: id.is_some(),
            admitted: false,
            waiting: Vec::new(),
            greeting: false,
            credit: None,
        };
        if let Some(id) = id {
            session.identify(id);
        }
        session
    }

    /// Whether a server's session, requested by a client, is not yet admitted.
    pub fn awaits_admission(&self) -> bool {
        self.incoming && !self.admitted
    }

    /// Sets the peer's limits.
    pub fn limit(&mut self, credit: Option<Credit>) {
        self.credit = credit.map(|credit| SessionCredit::new(credit).into());
    }

    /// Returns the limit of bytes, which all streams of the session share.
    pub fn data_credit(&self) -> Option<Rc<DataCredit>> {
        Some(self.credit.as_ref()?.data.clone())
    }

    /// Sets the id, once the CONNECT stream has one.
    pub fn identify(&mut self, id: u64) {
        self.id = Some(id);
        self.headers = [false, true].map(|unidirectional| Http3::stream_header(id, unidirectional).into());
    }
}
