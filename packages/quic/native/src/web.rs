//! State of HTTP/3 on a connection, and of a WebTransport session.

use std::rc::Rc;

use bytes::Bytes;

use crate::credit::{DataCredit, SessionCredit};
use crate::exchange::CancelLimit;
use crate::farewells::Farewells;
use crate::h3::{Credit, Fields, Http3, Request};
use crate::handle::Handle;
use crate::ids::IdMap;

/// HTTP/3 on one connection.
pub struct Web {
    pub http3: Http3,
    /// This side's control stream.
    pub control: Option<Handle>,
    /// The WebTransport sessions, by the id of their CONNECT stream.
    pub sessions: IdMap<u64, Handle>,
    /// At a server, ends of sessions that pages must not learn of at once.
    pub farewells: Farewells,
    /// At a server, whether a request of plain HTTP has made the connection count as a session.
    pub serves: bool,
    pub cancels: CancelLimit,
}

/// A WebTransport session.
pub struct WebSession {
    /// The connection that carries it.
    pub connection: Handle,
    /// The id of its CONNECT stream; a client's waits for one while the server's stream limit is reached.
    pub id: Option<u64>,
    /// The first bytes of its streams: bidirectional, unidirectional.
    pub headers: [Bytes; 2],
    /// The request, until it is sent, or until JavaScript has read it.
    pub request: Option<Request>,
    /// A server's answer, until JavaScript has read it: subprotocol and header fields.
    pub answer: Option<(Option<String>, Fields)>,
    /// Whether a client has asked this endpoint for it.
    incoming: bool,
    /// Whether that client is a page.
    pub of_page: bool,
    /// At a server, whether it is admitted: its streams reach JavaScript, and it counts.
    pub admitted: bool,
    /// Streams that wait for its admission.
    pub waiting: Vec<Handle>,
    /// Whether the first bidirectional stream does not wait for the admission, since it has the client's greeting.
    pub greeting: bool,
    /// Credit that the peer gives for streams and bytes; `None` where it does not limit them.
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

    /// Says whether a server's session, which a client's request asked for, still needs to be admitted.
    pub fn awaits_admission(&self) -> bool {
        self.incoming && !self.admitted
    }

    /// Sets the credit that the peer gives.
    pub fn limit(&mut self, credit: Option<Credit>) {
        self.credit = credit.map(|credit| SessionCredit::new(credit).into());
    }

    /// Returns the credit for bytes, which all streams of the session share.
    pub fn data_credit(&self) -> Option<Rc<DataCredit>> {
        Some(self.credit.as_ref()?.data.clone())
    }

    /// Sets the id, once the CONNECT stream has one.
    pub fn identify(&mut self, id: u64) {
        self.id = Some(id);
        self.headers = [false, true].map(|unidirectional| Http3::stream_header(id, unidirectional).into());
    }
}
