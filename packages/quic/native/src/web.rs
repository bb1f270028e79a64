//! What is kept of HTTP/3 on a connection, and of a WebTransport session.

use std::collections::HashMap;

use crate::h3::{Fields, Http3, Request};
use crate::handle::Handle;

pub struct Web {
    pub http3: Http3,
    /// This side's control stream.
    pub control: Option<Handle>,
    /// By the id of their CONNECT stream.
    pub sessions: HashMap<u64, Handle>,
}

pub struct WebSession {
    pub connection: Handle,
    /// The id of its CONNECT stream; a client's waits for one while the server's stream limit is reached.
    pub id: Option<u64>,
    /// What was asked for: until it is sent, or until JavaScript has read it.
    pub request: Option<Request>,
    /// A server's answer, until JavaScript has read it: subprotocol and header fields.
    pub answer: Option<(Option<String>, Fields)>,
}

impl WebSession {
    pub fn new(connection: Handle, id: Option<u64>, request: Request) -> Self {
        WebSession {
            connection,
            id,
            request: Some(request),
            answer: None,
        }
    }
}
