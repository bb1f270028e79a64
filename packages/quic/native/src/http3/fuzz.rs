//! Fuzzes the state machine with any peer and any order of events: no panic, bounded memory, and each session ends
//! once. An input is a byte string that encodes events; inputs worth keeping are in `corpus/h3`.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;

use super::fields::Fields;
use super::limits::HELD_STREAMS;
use super::{Action, Credit, Http3, Message, Part, Request, Role, capsule, credit, mutate, settings};

const MAX_SESSIONS: usize = 4;

/// Byte sequences that random bytes would rarely produce.
pub(super) fn phrase(number: u8) -> Vec<u8> {
    match number % 18 {
        0 => [&[0][..], &settings::encode(4)].concat(),
        1 => Request {
            authority: "a".to_owned(),
            path: "/".to_owned(),
            ..Request::default()
        }
        .encode(false),
        2 => Http3::stream_header(0, false),
        3 => Http3::stream_header(4, true),
        4 => capsule::close(7, b"bye"),
        5 => capsule::drain(),
        6 => vec![0x07, 0x01, 0x00],
        7 => super::fields::headers_frame(&super::fields::with_status(200, &[])),
        8 => vec![0x40, 0x41],
        9 => vec![0x00, 0x40, 0x64],
        10 => vec![0x21, 0x02, 1, 2],
        11 => capsule::grant(Credit {
            data: 7,
            streams: [1, 2],
        }),
        12 => capsule::grant(credit::GRANTED),
        13 => capsule::streams_blocked(true, 9),
        14 => vec![0x01, 0x80, 0x00, 0x3f, 0xff],
        15 => super::fields::headers_frame(&plain(&[])),
        16 => super::fields::headers_frame(&plain(&[("content-length", "3")])),
        _ => super::frames::encode(super::frames::DATA, b"abc"),
    }
}

/// The fields of a request of plain HTTP.
fn plain(more: &[(&str, &str)]) -> Fields {
    let own = [
        (":method", "POST"),
        (":scheme", "https"),
        (":authority", "a"),
        (":path", "/"),
    ];
    let all = own.iter().chain(more);
    all.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

/// Reads these bytes of a request after its head. Returns whether the request continues.
fn read_body(body: &mut Message, bytes: &[u8]) -> bool {
    let mut input = bytes;
    loop {
        let before = input.len();
        match body.next(&mut input) {
            Ok(None) => return true,
            Ok(Some(Part::Data(data))) => assert!(!data.is_empty() && input.len() < before),
            Ok(Some(Part::Head(..))) => panic!("the head of a response"),
            Err(_) => return false,
        }
    }
}

/// Runs `[role]`, then events: `[kind, stream, argument]`.
fn run(input: &[u8]) {
    let Some((&role, events)) = input.split_first() else {
        return;
    };
    let plain_too = role & 2 != 0;
    let role = if role & 1 == 0 { Role::Server } else { Role::Client };
    let mut machine = Http3::new(role, MAX_SESSIONS);
    if plain_too {
        machine.take_plain();
    }
    let mut bodies: HashMap<u64, Message> = HashMap::new();
    let mut opened = HashSet::new();
    let mut live = HashSet::new();
    let mut failed = false;
    for event in events.chunks_exact(3) {
        let (what, stream, argument) = (event[0], u64::from(event[1] % 64), event[2]);
        let theirs = stream & 1 == u64::from(role == Role::Client);
        if theirs && opened.insert(stream) {
            machine.opened(stream);
        }
        if let Some(body) = bodies.get_mut(&stream) {
            let goes_on = match what % 11 {
                0..=2 => read_body(body, &phrase(argument)),
                3 => read_body(body, &[argument]),
                4 => body.finish().is_err(),
                _ => false,
            };
            if !goes_on {
                bodies.remove(&stream);
                machine.request_over();
            }
            continue;
        }
        match what % 11 {
            0..=2 => {
                let bytes = phrase(argument);
                let used = machine.receive(stream, &bytes);
                assert!(used <= bytes.len());
            }
            3 => drop(machine.receive(stream, &[argument])),
            4 => machine.finished(stream),
            5 => machine.reset(stream, argument.into()),
            6 => drop(machine.datagram(&[argument, argument])),
            7 if role == Role::Server => machine.accept(stream, None, &Fields::new()),
            8 if role == Role::Server => machine.reject(stream, 404, &Fields::new()),
            9 => {
                machine.close(stream, argument.into(), b"");
                live.remove(&stream);
            }
            _ if role == Role::Client && stream & 3 == 0 && opened.insert(stream) => {
                live.insert(stream);
                machine.request(stream, &Request::default());
            }
            _ if argument >= 128 => machine.unwanted(stream),
            _ => machine.go_away(),
        }
        while let Some(action) = machine.poll() {
            assert!(!failed, "after its failure a connection said {action:?}");
            match action {
                Action::Asked { session, .. } => assert!(live.insert(session)),
                Action::Ended { session, .. } => assert!(live.remove(&session), "{session} ended twice"),
                Action::Adopt { session, .. } | Action::Datagram { session, .. } => assert!(live.contains(&session)),
                Action::Requested { stream, request } => {
                    assert!(plain_too && bodies.insert(stream, Message::request(request.length)).is_none());
                }
                Action::Fail { .. } => failed = true,
                _ => {}
            }
            if what % 11 == 8 && role == Role::Server {
                live.remove(&stream);
            }
        }
        assert_eq!(machine.plain_requests(), bodies.len());
        assert!(role == Role::Client || live.len() <= MAX_SESSIONS);
        assert!(machine.held.streams() <= HELD_STREAMS);
    }
}

#[test]
fn the_corpus() {
    for input in corpus("h3") {
        run(&input);
    }
}

#[test]
fn near_the_corpus() {
    mutate::near(&corpus("h3"), run);
}

/// Reads the inputs in a folder of `corpus`: bytes as decimal numbers.
pub(super) fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(name);
    let read = |entry: std::io::Result<std::fs::DirEntry>| {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        text.split_whitespace().map(|word| word.parse().unwrap()).collect()
    };
    let inputs: Vec<_> = std::fs::read_dir(&folder).unwrap().map(read).collect();
    assert!(inputs.len() >= 5, "{} is not what it was", folder.display());
    inputs
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn any_events(input in proptest::collection::vec(any::<u8>(), 0..400)) {
        run(&input);
    }
}
