//! State of HTTP/3 on a connection, and of a WebTransport session.

use std::rc::Rc;

use bytes::Bytes;

use crate::credit::{DataCredit, SessionCredit};
use crate::exchange::CancelLimit;
use crate::farewells::Farewells;
use crate::h3::{Credit, Fields, Http3, Request};
use crate::handle::Handle;
use crate::ids::IdMap;

pub struct Web {
    pub http3: Http3,
    /// This side's control stream.
    pub control: Option<Handle>,
    /// By the id of their CONNECT stream.
    pub sessions: IdMap<u64, Handle>,
    /// Server: what pages have yet to learn.
    pub farewells: Farewells,
    /// Server: its first request of plain HTTP made the connection count as a session.
    pub serves: bool,
    pub cancels: CancelLimit,
}

pub struct WebSession {
    pub connection: Handle,
    /// The id of its CONNECT stream; a client's waits for one while the server's stream limit is reached.
    pub id: Option<u64>,
    /// The first bytes of its streams: bidirectional, unidirectional.
    pub headers: [Bytes; 2],
    /// The request, until it is sent, or until JavaScript has read it.
    pub request: Option<Request>,
    /// A server's answer, until JavaScript has read it: subprotocol and header fields.
    pub answer: Option<(Option<String>, Fields)>,
    /// A client asked for it.
    incoming: bool,
    /// Server: a page asked for it.
    pub of_page: bool,
    /// Server: its streams reach JavaScript, and it counts.
    pub admitted: bool,
    /// Streams that wait for that.
    pub waiting: Vec<Handle>,
    /// The first bidirectional stream does not wait.
    pub greeting: bool,
    /// Where the peer limits it.
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

    pub fn limit(&mut self, credit: Option<Credit>) {
        self.credit = credit.map(|credit| SessionCredit::new(credit).into());
    }

    /// For its streams to share.
    pub fn data_credit(&self) -> Option<Rc<DataCredit>> {
        Some(self.credit.as_ref()?.data.clone())
    }

    pub fn identify(&mut self, id: u64) {
        self.id = Some(id);
        self.headers = [false, true].map(|unidirectional| Http3::stream_header(id, unidirectional).into());
    }
}
