//! The functions JavaScript sees of WebTransport sessions and datagrams.

use std::rc::Rc;

use crate::answer::Answer;
use crate::ffi::args::Args;
use crate::ffi::bound::Methods;
use crate::h3::{Fields, PlainRequest, Request};
use crate::handle::{Handle, Session};
use crate::host::Host;
use crate::methods::{number, text};

pub const METHODS: Methods = &[
    ("acceptSession", accept_session),
    ("admitSession", admit_session),
    ("askSession", ask_session),
    ("drainSession", drain_session),
    ("greetSession", greet_session),
    ("maxDatagramSize", max_datagram_size),
    ("remainingMs", remaining_ms),
    ("rejectSession", reject_session),
    ("requestHead", request_head),
    ("respond", respond),
    ("sendDatagram", send_datagram),
    ("sessionAnswer", session_answer),
    ("sessionRequest", session_request),
];

/// JavaScript has found these to be tokens and printable text; see `src/web-transport-request.ts`.
fn lines(list: &str) -> Vec<String> {
    list.lines().map(str::to_owned).collect()
}

/// Name and value on alternate lines.
fn fields(list: &str) -> Fields {
    let lines: Vec<&str> = list.split('\n').collect();
    let (pairs, _) = lines.as_chunks::<2>();
    pairs
        .iter()
        .map(|[name, value]| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn flat(fields: Fields) -> Answer {
    let words = fields.into_iter().flat_map(|(name, value)| [name, value]);
    Answer::List(words.map(Answer::Text).collect())
}

fn web_transport(args: &Args) -> Option<Handle> {
    match Session::unpack(args.number(0)) {
        Session::WebTransport(session) => Some(session),
        Session::Quic(_) => None,
    }
}

/// (session) → whether there was room for it
fn admit_session(host: &Rc<Host>, args: &Args) -> Answer {
    let session = Session::unpack(args.number(0));
    let admitted = host.with(|endpoint| endpoint.admit_session(session));
    number(u32::from(admitted.unwrap_or(true)))
}

/// (session)
fn greet_session(host: &Rc<Host>, args: &Args) -> Answer {
    host.with(|endpoint| endpoint.greet_session(Session::unpack(args.number(0))));
    Answer::Nothing
}

/// (session) → milliseconds until it must be admitted; negative: as long as it likes
fn remaining_ms(host: &Rc<Host>, args: &Args) -> Answer {
    let session = Session::unpack(args.number(0));
    let remaining = host.with(|endpoint| endpoint.remaining(session)).flatten();
    number(remaining.map_or(-1.0, |remaining| remaining.as_secs_f64() * 1000.0))
}

/// (connection, authority, path, subprotocols, fields) → session or failure
fn ask_session(host: &Rc<Host>, args: &Args) -> Answer {
    let request = Request {
        authority: args.text(1),
        path: args.text(2),
        protocols: lines(&args.text(3)),
        fields: fields(&args.text(4)),
    };
    host.with(|endpoint| endpoint.ask_session(Handle::unpack(args.number(0)), request))
        .map_or(Answer::Nothing, |asked| {
            asked.map_or_else(Answer::from, |session| Answer::Number(session.pack()))
        })
}

/// (session, subprotocol or "", fields)
fn accept_session(host: &Rc<Host>, args: &Args) -> Answer {
    let protocol = args.text(1);
    let protocol = (!protocol.is_empty()).then_some(protocol.as_str());
    if let Some(session) = web_transport(args) {
        host.with(|endpoint| endpoint.accept_session(session, protocol, &fields(&args.text(2))));
    }
    Answer::Nothing
}

/// (session, status, fields); the `Lost` record follows
fn reject_session(host: &Rc<Host>, args: &Args) -> Answer {
    if let Some(session) = web_transport(args) {
        host.with(|endpoint| endpoint.reject_session(session, args.uint(1) as u16, &fields(&args.text(2))));
    }
    Answer::Nothing
}

/// (session): a WebTransport session, or a connection with all its sessions
fn drain_session(host: &Rc<Host>, args: &Args) -> Answer {
    host.with(|endpoint| endpoint.drain_session(Session::unpack(args.number(0))));
    Answer::Nothing
}

/// (session) → [authority, path, [subprotocol…], [name, value…]], once
fn session_request(host: &Rc<Host>, args: &Args) -> Answer {
    let session = web_transport(args);
    host.with(|endpoint| {
        let request = endpoint.session_request(session?)?;
        let protocols = request.protocols.into_iter().map(Answer::Text).collect();
        Some(Answer::List(vec![
            text(request.authority),
            text(request.path),
            Answer::List(protocols),
            flat(request.fields),
        ]))
    })
    .flatten()
    .unwrap_or(Answer::Nothing)
}

/// (session) → [subprotocol, [name, value…]], once
fn session_answer(host: &Rc<Host>, args: &Args) -> Answer {
    let session = web_transport(args);
    host.with(|endpoint| {
        let (protocol, fields) = endpoint.session_answer(session?)?;
        Some(Answer::List(vec![text(protocol.unwrap_or_default()), flat(fields)]))
    })
    .flatten()
    .unwrap_or(Answer::Nothing)
}

/// (stream) → [method, authority, path, [name, value…]], once
fn request_head(host: &Rc<Host>, args: &Args) -> Answer {
    let stream = Handle::unpack(args.number(0));
    host.with(|endpoint| endpoint.request_head(stream))
        .flatten()
        .map_or(Answer::Nothing, |request| {
            let PlainRequest {
                method,
                authority,
                path,
                fields,
                ..
            } = request;
            Answer::List(vec![text(method), text(authority), text(path), flat(fields)])
        })
}

/// (stream, status, fields, bytes, end) → flags as of `write`
fn respond(host: &Rc<Host>, args: &Args) -> Answer {
    let (stream, status) = (Handle::unpack(args.number(0)), args.uint(1) as u16);
    let fields = fields(&args.text(2));
    let flags = host.with(|endpoint| endpoint.respond(stream, status, &fields, args.bytes(3), args.boolean(4)));
    number(flags.unwrap_or(0))
}

/// (session, bytes) → 0 sent, 1 no room now, 2 too large, 3 unavailable
fn send_datagram(host: &Rc<Host>, args: &Args) -> Answer {
    let session = Session::unpack(args.number(0));
    number(
        host.with(|endpoint| endpoint.send_datagram(session, args.bytes(1)))
            .unwrap_or(3),
    )
}

/// (session) → bytes
fn max_datagram_size(host: &Rc<Host>, args: &Args) -> Answer {
    let session = Session::unpack(args.number(0));
    number(host.with(|endpoint| endpoint.max_datagram_size(session)).unwrap_or(0) as u32)
}
