//! The functions that JavaScript calls. Handles are numbers, failures are lists; see `src/native.ts` for the types.

use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

use quinn_proto::Dir;

use crate::bridge::error::Failure;
use crate::bridge::handle::{Handle, Session};
use crate::bridge::layout::Settings;
use crate::bridge::reactor::Reactor;
use crate::bridge::return_value::ReturnValue;
use crate::endpoint::{Endpoint, canonical};
use crate::ffi::args::Args;
use crate::ffi::bound::Methods;
use crate::quic::tls;

pub const METHODS: Methods = &[
    ("address", address),
    ("close", close),
    ("closeSession", close_session),
    ("closePolitely", close_politely),
    ("closeSessions", close_sessions),
    ("connect", connect),
    ("counts", counts),
    ("drain", drain),
    ("driver", |reactor, _| {
        ReturnValue::Text(reactor.driver_name().to_owned())
    }),
    ("endpointStats", endpoint_stats),
    ("exportKeyingMaterial", export_keying_material),
    ("failure", failure),
    ("flush", flush),
    ("idle", idle),
    ("listen", listen),
    ("openStream", open_stream),
    ("peerCertificate", peer_certificate),
    ("pendingBytes", pending_bytes),
    ("ping", ping),
    ("portUnreachable", port_unreachable),
    ("rebind", rebind),
    ("reset", reset),
    ("sessionInfo", session_info),
    ("sessionStats", session_stats),
    ("setPaused", set_paused),
    ("setPriority", set_priority),
    ("setRef", set_ref),
    ("stopSending", stop_sending),
    ("streamId", stream_id),
    ("updateTls", update_tls),
    ("write", write),
];

pub fn text(value: impl ToString) -> ReturnValue {
    ReturnValue::Text(value.to_string())
}

pub fn number(value: impl Into<f64>) -> ReturnValue {
    ReturnValue::Number(value.into())
}

fn numbers(values: Vec<f64>) -> ReturnValue {
    ReturnValue::List(values.into_iter().map(ReturnValue::Number).collect())
}

/// () → [host, port, family]
fn address(reactor: &Rc<Reactor>, _: &Args) -> ReturnValue {
    reactor
        .with_socket(|socket| ReturnValue::from(socket.address()))
        .unwrap_or(ReturnValue::Undefined)
}

/// () → the numbers of `EndpointStats`
fn endpoint_stats(reactor: &Rc<Reactor>, _: &Args) -> ReturnValue {
    reactor
        .with(|endpoint| endpoint.stats())
        .map_or(ReturnValue::Undefined, |stats| numbers(stats.numbers()))
}

/// () → [connections, streams, timers] held by the engine, including those whose end JavaScript does not see
fn counts(reactor: &Rc<Reactor>, _: &Args) -> ReturnValue {
    reactor
        .with(|endpoint| endpoint.counts().map(|count| count as f64))
        .map_or(ReturnValue::Undefined, |counts| numbers(counts.into()))
}

/// Parses an IP address; None for an empty text.
pub fn ip_or_any(text: &str) -> Result<Option<IpAddr>, Failure> {
    if text.is_empty() {
        return Ok(None);
    }
    let ip = text.parse();
    ip.map(Some)
        .map_err(|_| Failure::option(format!("host {text:?} is not an IP address")))
}

/// (host or "", port) → failure or undefined
fn rebind(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    let rebind = || reactor.rebind(ip_or_any(&args.text(0))?, args.uint(1) as u16);
    rebind().map_or_else(ReturnValue::from, |()| ReturnValue::Undefined)
}

/// (code, reason bytes); the `Closed` record follows
fn close(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    reactor.close(args.uint(0), args.bytes(1));
    ReturnValue::Undefined
}

/// (code, reason bytes) → milliseconds until the next call, so that pages learn of the end of their sessions; 0: done
fn close_politely(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    let wait = reactor.with(|endpoint| endpoint.close_politely(args.uint(0), args.bytes(1)));
    number(wait.flatten().map_or(0, |wait| wait.as_millis() as u32))
}

/// (code, reason bytes): closes all sessions of the endpoint and sends the packets at once; the process is about to end
fn close_sessions(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    reactor.with(|endpoint| endpoint.close_all(args.uint(0), args.bytes(1)));
    ReturnValue::Undefined
}

/// (session, code, reason bytes); the `Lost` record follows
fn close_session(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    let session = Session::unpack(args.number(0));
    reactor.with(|endpoint| endpoint.close_session(session, args.uint(1), args.bytes(2)));
    ReturnValue::Undefined
}

/// (session): sends a PING
fn ping(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    let session = Session::unpack(args.number(0));
    reactor.with(|endpoint| endpoint.ping(session));
    ReturnValue::Undefined
}

/// (session): none of its calls waits
fn idle(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    let session = Session::unpack(args.number(0));
    reactor.with(|endpoint| endpoint.idle(session));
    ReturnValue::Undefined
}

/// (session): the system reports that its peer's port is closed; the `Lost` record follows
fn port_unreachable(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    let session = Session::unpack(args.number(0));
    reactor.with(|endpoint| endpoint.port_unreachable(session));
    ReturnValue::Undefined
}

/// Refuses connections from now on
fn drain(reactor: &Rc<Reactor>, _: &Args) -> ReturnValue {
    reactor.with(Endpoint::drain);
    ReturnValue::Undefined
}

fn settings(numbers: &[f64]) -> Result<Settings, Failure> {
    Settings::from_numbers(numbers).ok_or_else(|| Failure::option("transport settings have the wrong length"))
}

/// (TLS fields, settings) → failure or undefined
fn listen(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    let listen = || {
        let settings = settings(args.numbers(1))?;
        let tls = tls::server(args.bytes(0))?;
        reactor
            .with(|endpoint| endpoint.listen(tls, &settings))
            .unwrap_or_else(|| Err(Failure::endpoint_closed()))
    };
    listen().map_or_else(ReturnValue::from, |()| ReturnValue::Undefined)
}

/// (TLS fields) → failure or undefined
fn update_tls(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    let update = || {
        let tls = tls::server(args.bytes(0))?;
        reactor
            .with(|endpoint| endpoint.update_tls(tls))
            .unwrap_or_else(|| Err(Failure::endpoint_closed()))
    };
    update().map_or_else(ReturnValue::from, |()| ReturnValue::Undefined)
}

/// (ip, port, server name, TLS fields, settings, early data) → session or failure
fn connect(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    let connect = || {
        let ip: IpAddr = args
            .text(0)
            .parse()
            .map_err(|_| Failure::option(format!("{:?} is not an IP address", args.text(0))))?;
        let remote = SocketAddr::new(ip, args.uint(1) as u16);
        let settings = settings(args.numbers(4))?;
        let name = args.text(2);
        reactor
            .with(|endpoint| {
                if !args.boolean(5) {
                    let tls = endpoint.client(args.bytes(3))?;
                    return endpoint.connect(remote, &name, tls, &settings);
                }
                let (tls, protocol) = endpoint.resumable(remote, &name, args.bytes(3))?;
                let session = endpoint.connect(remote, &name, tls, &settings)?;
                endpoint.begin_early(session, protocol);
                Ok(session)
            })
            .unwrap_or_else(|| Err(Failure::endpoint_closed()))
    };
    connect().map_or_else(ReturnValue::from, |session| ReturnValue::Number(session.pack()))
}

/// (failure number) → failure, once
fn failure(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    reactor
        .with(|endpoint| endpoint.take_failure(args.uint(0)))
        .flatten()
        .map_or(ReturnValue::Undefined, ReturnValue::from)
}

/// () → 1 to be called again in the next turn, or 0
fn flush(reactor: &Rc<Reactor>, _: &Args) -> ReturnValue {
    ReturnValue::Number(reactor.on_immediate().into())
}

/// (session, unidirectional) → stream or failure
fn open_stream(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    let session = Session::unpack(args.number(0));
    let dir = if args.boolean(1) { Dir::Uni } else { Dir::Bi };
    reactor
        .with(|endpoint| endpoint.open_stream(session, dir))
        .unwrap_or_else(|| Err(Failure::endpoint_closed()))
        .map_or_else(ReturnValue::from, |stream| ReturnValue::Number(stream.pack()))
}

/// (stream, bytes, end) → flags
fn write(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    let stream = Handle::unpack(args.number(0));
    let flags = reactor.with(|endpoint| endpoint.write(stream, args.bytes(1), args.boolean(2)));
    reactor.wrote();
    number(flags.unwrap_or(0))
}

/// (stream) → bytes
fn pending_bytes(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    let stream = Handle::unpack(args.number(0));
    number(reactor.with(|endpoint| endpoint.pending_bytes(stream)).unwrap_or(0.0))
}

/// (stream, code) → flags
fn reset(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    let stream = Handle::unpack(args.number(0));
    let flags = reactor.with(|endpoint| endpoint.reset(stream, args.uint(1)));
    number(flags.unwrap_or(0))
}

/// (stream, code) → flags
fn stop_sending(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    let stream = Handle::unpack(args.number(0));
    let flags = reactor.with(|endpoint| endpoint.stop_sending(stream, args.uint(1)));
    number(flags.unwrap_or(0))
}

/// (stream, paused)
fn set_paused(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    let stream = Handle::unpack(args.number(0));
    reactor.with(|endpoint| endpoint.set_paused(stream, args.boolean(1)));
    ReturnValue::Undefined
}

/// (stream, priority)
fn set_priority(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    let stream = Handle::unpack(args.number(0));
    reactor.with(|endpoint| endpoint.set_priority(stream, args.number(1) as i32));
    ReturnValue::Undefined
}

/// (stream) → QUIC stream id, or -1 while it waits for the peer's limit
fn stream_id(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    let stream = Handle::unpack(args.number(0));
    let id = reactor.with(|endpoint| endpoint.streams.get(stream)?.id).flatten();
    ReturnValue::Number(id.map_or(-1.0, |id| quinn_proto::VarInt::from(id).into_inner() as f64))
}

/// (referenced)
fn set_ref(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    reactor.set_ref(args.boolean(0));
    ReturnValue::Undefined
}

/// (session) → [remote, local ip | undefined, ALPN, resumed]
fn session_info(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    let session = Session::unpack(args.number(0));
    reactor
        .with(|endpoint| {
            let connection = endpoint.connection_of(session)?;
            let remote = canonical(connection.proto.remote_address());
            let local = connection.proto.local_ip().map(|ip| ip.to_canonical());
            let alpn = connection.alpn().unwrap_or_default();
            Some(ReturnValue::List(vec![
                ReturnValue::from(remote),
                local.map_or(ReturnValue::Undefined, text),
                text(String::from_utf8_lossy(&alpn)),
                number(u32::from(connection.resumed())),
            ]))
        })
        .flatten()
        .unwrap_or(ReturnValue::Undefined)
}

/// (session) → the DER of its peer's certificate, or undefined
fn peer_certificate(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    let session = Session::unpack(args.number(0));
    reactor
        .with(|endpoint| endpoint.connection_of(session)?.peer_certificate())
        .flatten()
        .map_or(ReturnValue::Undefined, ReturnValue::Bytes)
}

/// (session, label bytes, context bytes, length) → bytes, or undefined if unavailable
fn export_keying_material(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    let session = Session::unpack(args.number(0));
    reactor
        .with(|endpoint| endpoint.export_keying_material(session, args.bytes(1), args.bytes(2), args.uint(3) as usize))
        .flatten()
        .map_or(ReturnValue::Undefined, ReturnValue::Bytes)
}

/// (session) → the numbers of `SessionStats`
fn session_stats(reactor: &Rc<Reactor>, args: &Args) -> ReturnValue {
    let session = Session::unpack(args.number(0));
    reactor
        .with(|endpoint| endpoint.session_stats(session))
        .flatten()
        .map_or(ReturnValue::Undefined, |stats| numbers(stats.numbers()))
}
