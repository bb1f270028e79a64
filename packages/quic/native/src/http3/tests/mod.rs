//! Two state machines joined without a network, and one with a peer that sends arbitrary bytes.

mod credit;
mod plain;
mod requests;
mod sessions;
mod streams;
mod violations;

use super::connection::{CONTROL, WT_BIDI, WT_UNI};
use super::fields::{Fields, headers_frame};
use super::limits::{HELD_STREAMS, OPENING_REQUESTS, REQUESTS};
use super::{
    Action, End, Fault, Http3, Message, Part, PlainRequest, Request, Role, capsule, codes, data_header, frames,
    settings, varint,
};

const SESSION: u64 = 0;

fn fields(list: &[(&str, &str)]) -> Fields {
    list.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect()
}

fn request() -> Request {
    Request {
        authority: "example.com:4433".to_owned(),
        path: "/chat?x=1".to_owned(),
        protocols: vec!["b".to_owned(), "a".to_owned()],
        fields: fields(&[("origin", "https://example.com"), ("x-twice", "1"), ("x-twice", "2")]),
    }
}

fn actions(machine: &mut Http3) -> Vec<Action> {
    std::iter::from_fn(|| machine.poll()).collect()
}

/// Returns the actions of a state machine whose peer sends `bytes` on a new stream.
fn said(machine: &mut Http3, stream: u64, bytes: &[u8]) -> Vec<Action> {
    machine.opened(stream);
    machine.receive(stream, bytes);
    actions(machine)
}

fn header(kind: u64, session: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    varint::put(kind, &mut bytes);
    varint::put(session, &mut bytes);
    bytes
}

fn failure(actions: &[Action]) -> Option<u64> {
    actions.iter().find_map(|action| match action {
        Action::Fail { code, .. } => Some(*code),
        _ => None,
    })
}

/// A server that has read a client's SETTINGS on stream 2.
fn server() -> Http3 {
    let mut server = Http3::new(Role::Server, 4);
    let preface = Http3::new(Role::Client, 0).preface();
    assert_eq!(said(&mut server, 2, &preface), []);
    server
}

/// A client that has read a server's SETTINGS on stream 3.
fn client() -> Http3 {
    let mut client = Http3::new(Role::Client, 0);
    let preface = Http3::new(Role::Server, 4).preface();
    assert_eq!(said(&mut client, 3, &preface), []);
    client
}

fn write_of(actions: Vec<Action>) -> Vec<u8> {
    match actions.into_iter().next() {
        Some(Action::Write { bytes, .. }) => bytes,
        other => panic!("no write but {other:?}"),
    }
}

/// Both ends of an open session on stream 0.
fn pair() -> (Http3, Http3) {
    let (mut client, mut server) = (client(), server());
    client.request(SESSION, &request());
    let asking = write_of(actions(&mut client));
    let asked = said(&mut server, SESSION, &asking);
    assert!(matches!(&asked[..], [Action::Asked { session: SESSION, request: got }] if got.path == "/chat?x=1"));
    server.accept(SESSION, Some("a"), &Fields::new());
    let granting = write_of(actions(&mut server));
    client.receive(SESSION, &granting);
    assert!(matches!(&actions(&mut client)[..], [Action::Granted { protocol: Some(name), .. }] if name == "a"));
    (client, server)
}
