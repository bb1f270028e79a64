//! The functions JavaScript sees. Handles are numbers, failures are lists; see `src/native.ts` for the types.

use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

use quinn_proto::Dir;

use crate::answer::Answer;
use crate::endpoint::{Endpoint, canonical};
use crate::error::Failure;
use crate::ffi::args::Args;
use crate::ffi::bound::Methods;
use crate::handle::{Handle, Session};
use crate::host::Host;
use crate::layout::Settings;
use crate::tls;

pub const METHODS: Methods = &[
    ("address", address),
    ("close", close),
    ("closeSession", close_session),
    ("closePolitely", close_politely),
    ("closeSessions", close_sessions),
    ("connect", connect),
    ("counts", counts),
    ("drain", drain),
    ("driver", |host, _| Answer::Text(host.driver_name().to_owned())),
    ("endpointStats", endpoint_stats),
    ("exportKeyingMaterial", export_keying_material),
    ("failure", failure),
    ("flush", flush),
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

pub fn text(value: impl ToString) -> Answer {
    Answer::Text(value.to_string())
}

pub fn number(value: impl Into<f64>) -> Answer {
    Answer::Number(value.into())
}

fn numbers(values: Vec<f64>) -> Answer {
    Answer::List(values.into_iter().map(Answer::Number).collect())
}

fn address_list(address: SocketAddr) -> Answer {
    let family = if address.is_ipv4() { "IPv4" } else { "IPv6" };
    Answer::List(vec![text(address.ip()), number(address.port()), text(family)])
}

/// () → [host, port, family]
fn address(host: &Rc<Host>, _: &Args) -> Answer {
    host.with_socket(|socket| address_list(socket.address()))
        .unwrap_or(Answer::Nothing)
}

/// () → the numbers of `EndpointStats`
fn endpoint_stats(host: &Rc<Host>, _: &Args) -> Answer {
    host.with(|endpoint| endpoint.stats())
        .map_or(Answer::Nothing, |stats| numbers(stats.numbers()))
}

/// () → [connections, streams, timers] held by the engine, those that end unseen by JavaScript included
fn counts(host: &Rc<Host>, _: &Args) -> Answer {
    host.with(|endpoint| endpoint.counts().map(|count| count as f64))
        .map_or(Answer::Nothing, |counts| numbers(counts.into()))
}

/// An IP address; none for an empty text.
pub fn ip_or_any(text: &str) -> Result<Option<IpAddr>, Failure> {
    if text.is_empty() {
        return Ok(None);
    }
    let ip = text.parse();
    ip.map(Some)
        .map_err(|_| Failure::option(format!("host {text:?} is not an IP address")))
}

/// (host or "", port) → failure or undefined
fn rebind(host: &Rc<Host>, args: &Args) -> Answer {
    let rebind = || host.rebind(ip_or_any(&args.text(0))?, args.uint(1) as u16);
    rebind().map_or_else(Answer::from, |()| Answer::Nothing)
}

/// (code, reason bytes); the `Closed` record follows
fn close(host: &Rc<Host>, args: &Args) -> Answer {
    host.close(args.uint(0), args.bytes(1));
    Answer::Nothing
}

/// (code, reason bytes) → milliseconds after which to ask again, for pages to know that their sessions are over; 0: they do
fn close_politely(host: &Rc<Host>, args: &Args) -> Answer {
    let wait = host.with(|endpoint| endpoint.close_politely(args.uint(0), args.bytes(1)));
    number(wait.flatten().map_or(0, |wait| wait.as_millis() as u32))
}

/// (code, reason bytes): of the whole endpoint, with what that sends; the process is about to end
fn close_sessions(host: &Rc<Host>, args: &Args) -> Answer {
    host.with(|endpoint| endpoint.close_all(args.uint(0), args.bytes(1)));
    Answer::Nothing
}

/// (session, code, reason bytes); the `Lost` record follows
fn close_session(host: &Rc<Host>, args: &Args) -> Answer {
    let session = Session::unpack(args.number(0));
    host.with(|endpoint| endpoint.close_session(session, args.uint(1), args.bytes(2)));
    Answer::Nothing
}

/// (session): a PING leaves
fn ping(host: &Rc<Host>, args: &Args) -> Answer {
    let session = Session::unpack(args.number(0));
    host.with(|endpoint| endpoint.ping(session));
    Answer::Nothing
}

/// (session): the system says that nobody listens at its peer's port; the `Lost` record follows
fn port_unreachable(host: &Rc<Host>, args: &Args) -> Answer {
    let session = Session::unpack(args.number(0));
    host.with(|endpoint| endpoint.port_unreachable(session));
    Answer::Nothing
}

/// Refuses connections from now on
fn drain(host: &Rc<Host>, _: &Args) -> Answer {
    host.with(Endpoint::drain);
    Answer::Nothing
}

fn settings(numbers: &[f64]) -> Result<Settings, Failure> {
    Settings::from_numbers(numbers).ok_or_else(|| Failure::option("transport settings have the wrong length"))
}

/// (TLS fields, settings) → failure or undefined
fn listen(host: &Rc<Host>, args: &Args) -> Answer {
    let listen = || {
        let settings = settings(args.numbers(1))?;
        let tls = tls::server(args.bytes(0))?;
        host.with(|endpoint| endpoint.listen(tls, &settings))
            .unwrap_or_else(|| Err(Failure::endpoint_closed()))
    };
    listen().map_or_else(Answer::from, |()| Answer::Nothing)
}

/// (TLS fields) → failure or undefined
fn update_tls(host: &Rc<Host>, args: &Args) -> Answer {
    let update = || {
        let tls = tls::server(args.bytes(0))?;
        host.with(|endpoint| endpoint.update_tls(tls))
            .unwrap_or_else(|| Err(Failure::endpoint_closed()))
    };
    update().map_or_else(Answer::from, |()| Answer::Nothing)
}

/// (ip, port, server name, TLS fields, settings, early data) → session or failure
fn connect(host: &Rc<Host>, args: &Args) -> Answer {
    let connect = || {
        let ip: IpAddr = args
            .text(0)
            .parse()
            .map_err(|_| Failure::option(format!("{:?} is not an IP address", args.text(0))))?;
        let remote = SocketAddr::new(ip, args.uint(1) as u16);
        let settings = settings(args.numbers(4))?;
        let name = args.text(2);
        host.with(|endpoint| {
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
    connect().map_or_else(Answer::from, |session| Answer::Number(session.pack()))
}

/// (failure number) → failure, once
fn failure(host: &Rc<Host>, args: &Args) -> Answer {
    host.with(|endpoint| endpoint.take_failure(args.uint(0)))
        .flatten()
        .map_or(Answer::Nothing, Answer::from)
}

/// () → 1 to be called again in the next turn, or 0
fn flush(host: &Rc<Host>, _: &Args) -> Answer {
    Answer::Number(host.on_immediate().into())
}

/// (session, unidirectional) → stream or failure
fn open_stream(host: &Rc<Host>, args: &Args) -> Answer {
    let session = Session::unpack(args.number(0));
    let dir = if args.boolean(1) { Dir::Uni } else { Dir::Bi };
    host.with(|endpoint| endpoint.open_stream(session, dir))
        .unwrap_or_else(|| Err(Failure::endpoint_closed()))
        .map_or_else(Answer::from, |stream| Answer::Number(stream.pack()))
}

/// (stream, bytes, end) → flags
fn write(host: &Rc<Host>, args: &Args) -> Answer {
    let stream = Handle::unpack(args.number(0));
    let flags = host.with(|endpoint| endpoint.write(stream, args.bytes(1), args.boolean(2)));
    number(flags.unwrap_or(0))
}

/// (stream) → bytes
fn pending_bytes(host: &Rc<Host>, args: &Args) -> Answer {
    let stream = Handle::unpack(args.number(0));
    number(host.with(|endpoint| endpoint.pending_bytes(stream)).unwrap_or(0.0))
}

/// (stream, code) → flags
fn reset(host: &Rc<Host>, args: &Args) -> Answer {
    let stream = Handle::unpack(args.number(0));
    let flags = host.with(|endpoint| endpoint.reset(stream, args.uint(1)));
    number(flags.unwrap_or(0))
}

/// (stream, code) → flags
fn stop_sending(host: &Rc<Host>, args: &Args) -> Answer {
    let stream = Handle::unpack(args.number(0));
    let flags = host.with(|endpoint| endpoint.stop_sending(stream, args.uint(1)));
    number(flags.unwrap_or(0))
}

/// (stream, paused)
fn set_paused(host: &Rc<Host>, args: &Args) -> Answer {
    let stream = Handle::unpack(args.number(0));
    host.with(|endpoint| endpoint.set_paused(stream, args.boolean(1)));
    Answer::Nothing
}

/// (stream, priority)
fn set_priority(host: &Rc<Host>, args: &Args) -> Answer {
    let stream = Handle::unpack(args.number(0));
    host.with(|endpoint| endpoint.set_priority(stream, args.number(1) as i32));
    Answer::Nothing
}

/// (stream) → QUIC stream id, or -1 while it waits for the peer's limit
fn stream_id(host: &Rc<Host>, args: &Args) -> Answer {
    let stream = Handle::unpack(args.number(0));
    let id = host.with(|endpoint| endpoint.streams.get(stream)?.id).flatten();
    Answer::Number(id.map_or(-1.0, |id| quinn_proto::VarInt::from(id).into_inner() as f64))
}

/// (referenced)
fn set_ref(host: &Rc<Host>, args: &Args) -> Answer {
    host.set_ref(args.boolean(0));
    Answer::Nothing
}

/// (session) → [remote, local ip | undefined, ALPN, resumed]
fn session_info(host: &Rc<Host>, args: &Args) -> Answer {
    let session = Session::unpack(args.number(0));
    host.with(|endpoint| {
        let connection = endpoint.connection_of(session)?;
        let remote = canonical(connection.proto.remote_address());
        let local = connection.proto.local_ip().map(|ip| ip.to_canonical());
        let alpn = connection.alpn().unwrap_or_default();
        Some(Answer::List(vec![
            address_list(remote),
            local.map_or(Answer::Nothing, text),
            text(String::from_utf8_lossy(&alpn)),
            number(u32::from(connection.resumed())),
        ]))
    })
    .flatten()
    .unwrap_or(Answer::Nothing)
}

/// (session) → the DER of the certificate its peer has shown, or undefined
fn peer_certificate(host: &Rc<Host>, args: &Args) -> Answer {
    let session = Session::unpack(args.number(0));
    host.with(|endpoint| endpoint.connection_of(session)?.peer_certificate())
        .flatten()
        .map_or(Answer::Nothing, Answer::Bytes)
}

/// (session, label bytes, context bytes, length) → bytes, or undefined where there are none
fn export_keying_material(host: &Rc<Host>, args: &Args) -> Answer {
    let session = Session::unpack(args.number(0));
    host.with(|endpoint| endpoint.export_keying_material(session, args.bytes(1), args.bytes(2), args.uint(3) as usize))
        .flatten()
        .map_or(Answer::Nothing, Answer::Bytes)
}

/// (session) → the numbers of `SessionStats`
fn session_stats(host: &Rc<Host>, args: &Args) -> Answer {
    let session = Session::unpack(args.number(0));
    host.with(|endpoint| endpoint.session_stats(session))
        .flatten()
        .map_or(Answer::Nothing, |stats| numbers(stats.numbers()))
}
