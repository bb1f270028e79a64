//! The functions for WebTransport sessions and datagrams that JavaScript calls.

use std::rc::Rc;

use crate::bridge::error::Failure;
use crate::bridge::handle::{Handle, Session};
use crate::bridge::methods::{number, text};
use crate::bridge::reactor::Reactor;
use crate::bridge::return_value::ReturnValue;
use crate::ffi::args::Args;
use crate::ffi::bound::Methods;
use crate::http3::{Fields, PlainRequest, Request};

pub const METHODS: Methods = &[
    ("acceptSession", accept_session),
    ("admitSession", admit_session),
    ("askSession", ask_session),
    ("drainSession", drain_session),
    ("endWithTrailers", end_with_trailers),
    ("greetSession", greet_session),
    ("maxDatagramSize", max_datagram_size),
    ("remainingMs", remaining_ms),
    ("rejectSession", reject_session),
    ("requestHead", request_head),
    ("respond", respond),
    ("section", section),
    ("sendDatagram", send_datagram),
    ("sendRequest", send_request),
    ("sessionAnswer", session_answer),
    ("sessionRequest", session_request),
];

/// The lines of a list. JavaScript has verified that they are tokens and printable text; see
/// `src/web-transport-request.ts`.
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

fn flat(fields: Fields) -> ReturnValue {
    let words = fields.into_iter().flat_map(|(name, value)| [name, value]);
    ReturnValue::List(words.map(ReturnValue::Text).collect())
}

fn web_transport(args: &Args) -> Option<Handle> {
    match Session::unpack(args.number(0)) {
        Session::WebTransport(session) => Some(session),
        Session::Quic(_) => None,
    }
}

/// (session) → whether there was room for it
fn admit_session(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    let session = Session::unpack(args.number(0));
    let admitted = reactor.with(|endpoint| endpoint.admit_session(session));
    number(u32::from(admitted.unwrap_or(true)))
}

/// (session)
fn greet_session(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    reactor.with(|endpoint| endpoint.greet_session(Session::unpack(args.number(0))));
    ReturnValue::Undefined
}

/// (session) → milliseconds until it must be admitted; negative: no limit
fn remaining_ms(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    let session = Session::unpack(args.number(0));
    let remaining = reactor.with(|endpoint| endpoint.remaining(session)).flatten();
    number(remaining.map_or(-1.0, |remaining| remaining.as_secs_f64() * 1000.0))
}

/// (connection, authority, path, subprotocols, fields) → session or failure
fn ask_session(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    let request = Request {
        authority: args.text(1),
        path: args.text(2),
        protocols: lines(&args.text(3)),
        fields: fields(&args.text(4)),
    };
    reactor
        .with(|endpoint| endpoint.ask_session(Handle::unpack(args.number(0)), request))
        .map_or(ReturnValue::Undefined, |asked| {
            asked.map_or_else(ReturnValue::from, |session| ReturnValue::Number(session.pack()))
        })
}

/// (session, subprotocol or "", fields)
fn accept_session(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    let protocol = args.text(1);
    let protocol = (!protocol.is_empty()).then_some(protocol.as_str());
    if let Some(session) = web_transport(args) {
        reactor.with(|endpoint| endpoint.accept_session(session, protocol, &fields(&args.text(2))));
    }
    ReturnValue::Undefined
}

/// (session, status, fields); the `Lost` record follows
fn reject_session(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    if let Some(session) = web_transport(args) {
        reactor.with(|endpoint| endpoint.reject_session(session, args.uint(1) as u16, &fields(&args.text(2))));
    }
    ReturnValue::Undefined
}

/// (session): a WebTransport session, or a connection with all its sessions
fn drain_session(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    reactor.with(|endpoint| endpoint.drain_session(Session::unpack(args.number(0))));
    ReturnValue::Undefined
}

/// (session) → [authority, path, [subprotocol…], [name, value…]], once
fn session_request(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    let session = web_transport(args);
    reactor
        .with(|endpoint| {
            let request = endpoint.session_request(session?)?;
            let protocols = request.protocols.into_iter().map(ReturnValue::Text).collect();
            Some(ReturnValue::List(vec![
                text(request.authority),
                text(request.path),
                ReturnValue::List(protocols),
                flat(request.fields),
            ]))
        })
        .flatten()
        .unwrap_or(ReturnValue::Undefined)
}

/// (session) → [subprotocol, [name, value…]], once
fn session_answer(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    let session = web_transport(args);
    reactor
        .with(|endpoint| {
            let (protocol, fields) = endpoint.session_answer(session?)?;
            Some(ReturnValue::List(vec![
                text(protocol.unwrap_or_default()),
                flat(fields),
            ]))
        })
        .flatten()
        .unwrap_or(ReturnValue::Undefined)
}

/// (stream) → [method, authority, path, [name, value…]], once
fn request_head(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    let stream = Handle::unpack(args.number(0));
    reactor
        .with(|endpoint| endpoint.request_head(stream))
        .flatten()
        .map_or(ReturnValue::Undefined, |request| {
            let PlainRequest {
                method,
                authority,
                path,
                fields,
                ..
            } = request;
            ReturnValue::List(vec![text(method), text(authority), text(path), flat(fields)])
        })
}

/// (connection, method, authority, path, fields, end) → stream or failure
fn send_request(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    let request = PlainRequest {
        method: args.text(1),
        authority: args.text(2),
        path: args.text(3),
        fields: fields(&args.text(4)),
        length: None,
    };
    let connection = Handle::unpack(args.number(0));
    let sent = reactor.with(|endpoint| endpoint.send_request(connection, &request, args.boolean(5)));
    reactor.wrote();
    sent.unwrap_or_else(|| Err(Failure::endpoint_closed()))
        .map_or_else(ReturnValue::from, |stream| ReturnValue::Number(stream.pack()))
}

/// (stream, status, fields, bytes, end) → flags as of `write`
fn respond(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    let (stream, status) = (Handle::unpack(args.number(0)), args.uint(1) as u16);
    let fields = fields(&args.text(2));
    let flags = reactor.with(|endpoint| endpoint.respond(stream, status, &fields, args.bytes(3), args.boolean(4)));
    reactor.wrote();
    number(flags.unwrap_or(0))
}

/// (stream, fields) → flags as of `write`
fn end_with_trailers(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    let (stream, fields) = (Handle::unpack(args.number(0)), fields(&args.text(1)));
    let flags = reactor.with(|endpoint| endpoint.end_with_trailers(stream, &fields));
    reactor.wrote();
    number(flags.unwrap_or(0))
}

/// (index of a stream, trailers) → [name, value…] of a head or trailers that have just arrived, once
fn section(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    let fields = reactor.with(|endpoint| endpoint.section(args.uint(0), args.boolean(1)));
    fields.flatten().map_or(ReturnValue::Undefined, flat)
}

/// (session, bytes) → 0 sent, 1 no room now, 2 too large, 3 unavailable
fn send_datagram(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    let session = Session::unpack(args.number(0));
    let answer = reactor.with(|endpoint| endpoint.send_datagram(session, args.bytes(1)));
    reactor.wrote();
    number(answer.unwrap_or(3))
}

/// (session) → bytes
fn max_datagram_size(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    let session = Session::unpack(args.number(0));
    number(
        reactor
            .with(|endpoint| endpoint.max_datagram_size(session))
            .unwrap_or(0) as u32,
    )
}
