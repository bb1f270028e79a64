//! Fuzzes the parsers with any bytes, split in any way: no parser panics, and the result of a connection does not
//! depend on the split. Inputs worth keeping are in `corpus/bytes`.

use proptest::prelude::*;

use super::frames::FrameReader;
use super::fuzz::{corpus, phrase};
use super::settings::Settings;
use super::{Action, Fault, Fields, Http3, Message, Part, Role, capsule, mutate, protocols, qpack, request, varint};

/// Feeds `bytes` on a stream to a new connection, in pieces of at most the next of `sizes`; returns its actions and the
/// number of bytes used.
fn said(role: Role, stream: u64, bytes: &[u8], sizes: &[usize]) -> (Vec<Action>, usize) {
    let mut machine = Http3::new(role, 4);
    machine.opened(stream);
    let (mut actions, mut used) = (Vec::new(), 0);
    let mut sizes = sizes.iter().cycle();
    while used < bytes.len() {
        let most = machine.appetite(stream).min(*sizes.next().unwrap_or(&usize::MAX));
        let part = &bytes[used..bytes.len().min(used + most)];
        let taken = machine.receive(stream, part);
        assert!(taken <= part.len());
        actions.extend(std::iter::from_fn(|| machine.poll()));
        used += taken;
        if taken < part.len() || part.is_empty() {
            break;
        }
    }
    (actions, used)
}

/// Runs `[role and stream, size, size, size]`, then the bytes.
fn run(input: &[u8]) {
    let Some((&[start, ref sizes @ ..], bytes)) = input.split_first_chunk::<4>() else {
        return;
    };
    let (role, stream) = match start % 4 {
        0 => (Role::Server, 0),
        1 => (Role::Server, 2),
        2 => (Role::Client, 1),
        _ => (Role::Client, 3),
    };
    let sizes = sizes.map(|size| usize::from(size) + 1);
    let (whole, split) = (said(role, stream, bytes, &[]), said(role, stream, bytes, &sizes));
    assert_eq!(whole.0, split.0);
    // Bytes after a failure are ignored.
    if !matches!(whole.0.last(), Some(Action::Fail { .. })) {
        assert_eq!(whole.1, split.1);
    }
    for message in [
        || Message::request(Some(9)),
        || Message::response("GET"),
        || Message::response("HEAD"),
    ] {
        assert_eq!(parts_of(message(), bytes, &[]), parts_of(message(), bytes, &sizes));
    }
    parse(bytes);
}

/// Returns head and body of the message in these bytes, and its fault.
fn parts_of(mut message: Message, bytes: &[u8], sizes: &[usize]) -> (Option<(u16, Fields)>, Vec<u8>, Option<Fault>) {
    let (mut head, mut body, mut rest) = (None, Vec::new(), bytes);
    let mut sizes = sizes.iter().cycle();
    while !rest.is_empty() {
        let (part, left) = rest.split_at(rest.len().min(*sizes.next().unwrap_or(&usize::MAX)));
        rest = left;
        let mut input = part;
        loop {
            match message.next(&mut input) {
                Ok(Some(Part::Head(status, fields))) => assert_eq!(head.replace((status, fields)), None),
                Ok(Some(Part::Data(data))) => body.extend_from_slice(data),
                Ok(None) => break,
                // A reader of larger pieces returns less of the data before the fault.
                Err(fault) => return (head, Vec::new(), Some(fault)),
            }
        }
    }
    (head, body, message.finish().err())
}

/// Runs every parser of received bytes.
fn parse(bytes: &[u8]) {
    let mut rest = bytes;
    while varint::take(&mut rest).is_some() {}
    let _ = Settings::parse(bytes);
    let _ = qpack::decode(bytes);
    let _ = request::judge(bytes, false);
    let _ = request::judge(bytes, true);
    let text = String::from_utf8_lossy(bytes);
    let _ = protocols::parse_list(&text);
    let _ = protocols::parse_item(&text);
    let (mut frames, mut rest) = (FrameReader::default(), bytes);
    while matches!(frames.next(&mut rest), Ok(Some(_))) {}
    let (mut capsules, mut rest) = (capsule::CapsuleReader::default(), bytes);
    while matches!(capsules.next(&mut rest), Ok(Some(_))) {}
}

#[test]
fn the_corpus() {
    for input in corpus("bytes") {
        run(&input);
    }
}

#[test]
fn near_the_corpus() {
    mutate::near(&corpus("bytes"), run);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn any_bytes(
        start in any::<[u8; 4]>(),
        parts in proptest::collection::vec(
            prop_oneof![any::<u8>().prop_map(phrase), proptest::collection::vec(any::<u8>(), 0..40)],
            0..6,
        ),
    ) {
        run(&[&start[..], &parts.concat()].concat());
    }
}
