//! Two machines joined without a network, and one against a peer that writes its own bytes.

use super::connection::{CONTROL, WT_BIDI, WT_UNI};
use super::fields::{Fields, headers_frame};
use super::limits::{HELD_STREAMS, OPENING_REQUESTS};
use super::{Action, End, Http3, Request, Role, capsule, codes, frames, settings, varint};

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

/// What a machine says to a peer that sends `bytes` on a new stream of its own.
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

#[test]
fn a_request_arrives_as_it_was_made_even_byte_by_byte() {
    let (mut client, mut server) = (client(), server());
    client.request(SESSION, &request());
    let asking = write_of(actions(&mut client));
    server.opened(SESSION);
    for byte in &asking {
        assert_eq!(server.receive(SESSION, &[*byte]), 1);
    }
    let mut expected = request();
    let draft = fields(&[("sec-webtransport-http3-draft02", "1")]);
    expected.fields = [draft, expected.fields].concat();
    assert_eq!(
        actions(&mut server),
        [Action::Asked {
            session: SESSION,
            request: expected
        }]
    );
}

#[test]
fn a_client_waits_for_settings_and_refuses_a_server_without_webtransport() {
    let mut early = Http3::new(Role::Client, 0);
    early.request(SESSION, &request());
    assert_eq!(actions(&mut early), []);
    let preface = Http3::new(Role::Server, 4).preface();
    assert!(matches!(
        said(&mut early, 3, &preface)[..],
        [Action::Write {
            stream: SESSION,
            end: false,
            ..
        }]
    ));

    let mut disappointed = Http3::new(Role::Client, 0);
    disappointed.request(SESSION, &request());
    let plain = [&[CONTROL as u8][..], &frames::encode(frames::SETTINGS, &[])].concat();
    let said = said(&mut disappointed, 3, &plain);
    assert!(
        matches!(
            said[0],
            Action::Ended {
                end: End::Unavailable { .. },
                ..
            }
        ),
        "{said:?}"
    );
    assert_eq!(said.last(), Some(&Action::Idle));
}

#[test]
fn a_rejected_request_carries_its_status() {
    for status in [403, 404, 429, 500] {
        let (mut client, mut server) = (client(), server());
        client.request(SESSION, &request());
        said(&mut server, SESSION, &write_of(actions(&mut client)));
        server.reject(SESSION, status, &Fields::new());
        server.accept(SESSION, None, &Fields::new());
        let said = actions(&mut server);
        assert!(
            matches!(
                said[1..],
                [Action::Stop {
                    stream: SESSION,
                    code: codes::NO_ERROR
                }]
            ),
            "{said:?}"
        );
        client.receive(SESSION, &write_of(said));
        let end = End::Rejected { status };
        assert_eq!(actions(&mut client)[0], Action::Ended { session: SESSION, end });
    }
}

#[test]
fn an_interim_response_is_skipped_and_unoffered_protocols_are_not_taken() {
    let mut client = client();
    client.request(SESSION, &request());
    actions(&mut client);
    client.receive(
        SESSION,
        &headers_frame(&fields(&[(":status", "103"), ("link", "</a>")])),
    );
    assert_eq!(actions(&mut client), []);
    client.receive(
        SESSION,
        &headers_frame(&fields(&[(":status", "200"), ("wt-protocol", "\"other\"")])),
    );
    assert!(matches!(
        actions(&mut client)[..],
        [Action::Granted { protocol: None, .. }]
    ));
}

#[test]
fn streams_and_datagrams_belong_to_their_session() {
    let (_, mut server) = pair();
    for (stream, kind) in [(4, WT_BIDI), (6, WT_UNI)] {
        let header = Http3::stream_header(SESSION, kind == WT_UNI);
        server.opened(stream);
        let bytes = [&header[..], b"payload"].concat();
        assert_eq!(server.receive(stream, &bytes), header.len());
        let session = SESSION;
        assert_eq!(actions(&mut server), [Action::Adopt { stream, session }]);
        assert_eq!(server.appetite(stream), 0);
    }
    assert_eq!(server.datagram(b"\0hello"), Some((SESSION, 1)));
    assert_eq!(Http3::datagram_header(8), [2]);
    assert_eq!(server.datagram(&[0x40, 0x00, 9]), Some((SESSION, 2)));
}

#[test]
fn what_comes_before_its_session_is_held_in_order_and_bounded() {
    let mut server = server();
    // QUIC opens streams in order (RFC 9000 §3.2), whichever's bytes come first.
    server.opened(SESSION);
    for (stream, kind) in [(4, WT_BIDI), (6, WT_UNI)] {
        assert_eq!(said(&mut server, stream, &header(kind, SESSION)), []);
        assert_eq!(server.appetite(stream), 0);
    }
    for n in 0..2000u16 {
        assert_eq!(server.datagram(&[&[0][..], &n.to_be_bytes()].concat()), None);
    }
    // Of a session that may never come.
    for n in 0..HELD_STREAMS as u64 - 2 {
        assert_eq!(said(&mut server, 10 + 4 * n, &header(WT_UNI, 4000)), []);
    }
    let code = codes::WT_BUFFERED_STREAM_REJECTED;
    let stream = 10 + 4 * (HELD_STREAMS as u64 - 2);
    assert_eq!(
        said(&mut server, stream, &header(WT_UNI, 4000)),
        [Action::Abandon { stream, code }]
    );

    server.receive(SESSION, &request().encode());
    assert!(matches!(server.poll(), Some(Action::Asked { .. })));
    server.accept(SESSION, None, &Fields::new());
    let released = actions(&mut server);
    assert_eq!(
        released[1],
        Action::Adopt {
            stream: 4,
            session: SESSION
        }
    );
    assert_eq!(
        released[2],
        Action::Adopt {
            stream: 6,
            session: SESSION
        }
    );
    let payload = vec![0, 0];
    assert_eq!(
        released[3],
        Action::Datagram {
            session: SESSION,
            payload
        }
    );
    assert!(released.len() < 1100, "{}", released.len());
}

#[test]
fn what_was_held_for_a_refused_session_is_reset() {
    let mut server = server();
    said(&mut server, 6, &header(WT_UNI, SESSION));
    said(&mut server, SESSION, &request().encode());
    server.reject(SESSION, 403, &Fields::new());
    let code = codes::WT_BUFFERED_STREAM_REJECTED;
    assert_eq!(actions(&mut server).last(), Some(&Action::Abandon { stream: 6, code }));
    let code = codes::WT_SESSION_GONE;
    assert_eq!(
        said(&mut server, 10, &header(WT_UNI, SESSION)),
        [Action::Abandon { stream: 10, code }]
    );
}

#[test]
fn several_sessions_share_a_connection_up_to_the_limit() {
    let (_, mut server) = pair();
    for session in [4, 8, 12] {
        assert_eq!(said(&mut server, session, &request().encode()).len(), 1);
        server.accept(session, None, &Fields::new());
        actions(&mut server);
    }
    let refusal = said(&mut server, 16, &request().encode());
    assert_eq!(write_of(refusal), headers_frame(&fields(&[(":status", "429")])));
    server.close(4, 1, b"");
    actions(&mut server);
    assert!(server.datagram(&[1]).is_none());
    assert_eq!(server.datagram(&[2]), Some((8, 1)));
}

#[test]
fn close_codes_and_reasons_survive_both_ways_split_over_frames() {
    for flip in [false, true] {
        let (client, server) = pair();
        let (mut here, mut there) = if flip { (server, client) } else { (client, server) };
        here.close(SESSION, 0xffff_ffff, "tschüß".as_bytes());
        let Some(Action::Write { bytes, end: true, .. }) = here.poll() else {
            panic!("no FIN")
        };
        // The capsule in DATA frames of three bytes.
        let mut capsule = &bytes[..];
        varint::take(&mut capsule);
        varint::take(&mut capsule);
        for part in capsule.chunks(3) {
            there.receive(SESSION, &frames::encode(frames::DATA, part));
        }
        there.finished(SESSION);
        let said = actions(&mut there);
        let (code, reason) = (0xffff_ffff, "tschüß".to_owned());
        assert!(matches!(&said[0], Action::Write { stream: SESSION, bytes, end: true } if bytes.is_empty()));
        assert_eq!(
            said[1],
            Action::Ended {
                session: SESSION,
                end: End::Closed { code, reason }
            }
        );
        // Only a client knows that the connection has served its purpose, and only after the peer's FIN.
        assert_eq!(actions(&mut here), []);
        here.finished(SESSION);
        let [idle, silence]: [&[Action]; 2] = [&[Action::Idle], &[]];
        assert_eq!(actions(&mut here), if flip { silence } else { idle });
    }
}

#[test]
fn fin_alone_is_a_clean_close_and_reset_is_not() {
    let (mut client, mut server) = pair();
    server.finished(SESSION);
    let reason = String::new();
    assert_eq!(
        actions(&mut server)[1],
        Action::Ended {
            session: SESSION,
            end: End::Closed { code: 0, reason }
        }
    );
    client.reset(SESSION, 0x10c);
    assert_eq!(
        actions(&mut client)[0],
        Action::Ended {
            session: SESSION,
            end: End::Gone { code: 0x10c }
        }
    );
}

#[test]
fn fin_within_a_capsule_or_frame_is_an_error() {
    let (mut client, mut server) = pair();
    server.receive(SESSION, &frames::encode(frames::DATA, &[0x68]));
    server.finished(SESSION);
    let code = codes::MESSAGE_ERROR;
    assert_eq!(
        actions(&mut server)[0],
        Action::Ended {
            session: SESSION,
            end: End::Gone { code }
        }
    );
    client.receive(SESSION, &[0x00, 0x05]);
    client.finished(SESSION);
    assert_eq!(failure(&actions(&mut client)), Some(codes::FRAME_ERROR));
}

#[test]
fn drain_and_goaway_are_told_once() {
    let (mut client, mut server) = pair();
    server.drain(SESSION);
    let drain = write_of(actions(&mut server));
    client.receive(SESSION, &capsule::encode(0x1234_5678, b"unknown"));
    client.receive(SESSION, &drain);
    client.receive(SESSION, &drain);
    assert_eq!(actions(&mut client), [Action::Draining { session: SESSION }]);

    server.go_away();
    let Some(Action::Control(goaway)) = server.poll() else {
        panic!("no GOAWAY")
    };
    client.request(4, &request());
    actions(&mut client);
    client.receive(3, &goaway);
    let said = actions(&mut client);
    assert!(
        matches!(
            said[0],
            Action::Ended {
                session: 4,
                end: End::Unavailable { .. }
            }
        ),
        "{said:?}"
    );
    actions(&mut server);
    let code = codes::REQUEST_REJECTED;
    assert_eq!(
        self::said(&mut server, 4, &request().encode()),
        [Action::Abandon { stream: 4, code }]
    );
    assert_eq!(server.datagram(b"\0x"), Some((SESSION, 1)));
    client.receive(3, &frames::encode(frames::GOAWAY, &[8]));
    assert_eq!(failure(&actions(&mut client)), Some(codes::ID_ERROR));
}

#[test]
fn other_requests_get_an_answer() {
    let plain = [(":scheme", "https"), (":path", "/"), (":authority", "a")];
    let ask = |extra: &[(&str, &str)]| {
        let mut all = fields(extra);
        all.extend(fields(&plain));
        let said = said(&mut server(), SESSION, &headers_frame(&all));
        assert!(matches!(said[0], Action::Write { end: true, .. }), "{said:?}");
        write_of(said)
    };
    let page = ask(&[(":method", "GET")]);
    assert!(String::from_utf8_lossy(&page).contains("WebTransport"));
    assert!(ask(&[(":method", "HEAD")]).len() < page.len() - 20);
    let unknown = headers_frame(&fields(&[(":status", "501")]));
    assert_eq!(ask(&[(":method", "CONNECT"), (":protocol", "websocket")]), unknown);
}

#[test]
fn malformed_requests_cost_their_stream_only() {
    let good = [
        (":method", "CONNECT"),
        (":protocol", "webtransport"),
        (":scheme", "https"),
        (":authority", "a"),
        (":path", "/"),
    ];
    assert!(matches!(
        said(&mut server(), SESSION, &headers_frame(&fields(&good)))[..],
        [Action::Asked { .. }]
    ));
    let mut bad: Vec<Fields> = (0..5)
        .filter(|at| *at != 1)
        .map(|at| fields(&[&good[..at], &good[at + 1..]].concat()))
        .collect();
    for extra in [
        (":path", "/twice"),
        (":status", "200"),
        (":unknown", "x"),
        ("Upper", "x"),
        ("connection", "close"),
        ("", "x"),
        ("x", "a\r\nb: c"),
    ] {
        bad.push(fields(&[&good[..], &[extra]].concat()));
    }
    bad.push(fields(&[&[("early", "x")], &good[..]].concat()));
    for fields in bad {
        let said = said(&mut server(), SESSION, &headers_frame(&fields));
        let code = codes::MESSAGE_ERROR;
        assert_eq!(said, [Action::Abandon { stream: SESSION, code }], "{fields:?}");
    }
}

#[test]
fn a_peer_that_breaks_http3_loses_the_connection() {
    let settings = settings::encode(1);
    let control = |rest: &[u8]| [&[CONTROL as u8][..], rest].concat();
    let twice = control(&[&settings[..], &settings].concat());
    let oversized = control(&[4, 0x80, 0x01, 0x00, 0x00]);
    for (bytes, code) in [
        (twice, codes::FRAME_UNEXPECTED),
        (oversized, codes::EXCESSIVE_LOAD),
        (control(&frames::encode(frames::DATA, b"x")), codes::MISSING_SETTINGS),
        (control(&frames::encode(0x21, b"")), codes::MISSING_SETTINGS),
        (
            control(&frames::encode(frames::SETTINGS, &[2, 0])),
            codes::SETTINGS_ERROR,
        ),
        (
            control(&[&settings[..], &[frames::HEADERS as u8, 0]].concat()),
            codes::FRAME_UNEXPECTED,
        ),
        (control(&[&settings[..], &[0x07, 2, 0, 0]].concat()), codes::FRAME_ERROR),
        (control(&[0x02, 0]), codes::FRAME_UNEXPECTED),
        (vec![0x01], codes::STREAM_CREATION_ERROR),
        (header(WT_UNI, 1), codes::ID_ERROR),
        (header(WT_UNI, 2), codes::ID_ERROR),
    ] {
        let mut server = Http3::new(Role::Server, 4);
        assert_eq!(failure(&said(&mut server, 2, &bytes)), Some(code), "{bytes:?}");
        // Deaf from then on.
        assert_eq!(said(&mut server, 0, &request().encode()), []);
        server.finished(2);
        assert_eq!(actions(&mut server), []);
    }
    assert_eq!(
        failure(&said(&mut server(), 6, &[CONTROL as u8])),
        Some(codes::STREAM_CREATION_ERROR)
    );
    assert_eq!(failure(&said(&mut client(), 7, &[1])), Some(codes::ID_ERROR));
    assert_eq!(
        failure(&said(&mut client(), 1, &[0])),
        Some(codes::STREAM_CREATION_ERROR)
    );
    let section = frames::encode(frames::HEADERS, &[1, 0]);
    assert_eq!(
        failure(&said(&mut server(), 0, &section)),
        Some(codes::QPACK_DECOMPRESSION_FAILED)
    );
    assert_eq!(
        failure(&said(&mut server(), 0, &frames::encode(0, b"x"))),
        Some(codes::FRAME_UNEXPECTED)
    );
    let mut closed = server();
    closed.finished(2);
    assert_eq!(failure(&actions(&mut closed)), Some(codes::CLOSED_CRITICAL_STREAM));
    let mut datagram = server();
    datagram.datagram(&[0x40]);
    assert_eq!(failure(&actions(&mut datagram)), Some(codes::DATAGRAM_ERROR));
}

#[test]
fn a_session_stream_that_names_itself_or_a_stream_that_is_no_session_is_gone() {
    let (_, mut server) = pair();
    let code = codes::WT_SESSION_GONE;
    assert_eq!(
        said(&mut server, 4, &header(WT_BIDI, 4)),
        [Action::Abandon { stream: 4, code }]
    );
    assert_eq!(said(&mut server, 8, &header(WT_BIDI, 12)), []);
    assert_eq!(
        said(&mut server, 12, &header(WT_BIDI, SESSION))[0],
        Action::Abandon { stream: 8, code }
    );
}

#[test]
fn unfinished_requests_are_bounded() {
    let mut server = server();
    for n in 0..OPENING_REQUESTS as u64 {
        assert_eq!(said(&mut server, 4 * n, &[1, 0x40, 0xff, 0]), []);
    }
    let (stream, code) = (4 * OPENING_REQUESTS as u64, codes::REQUEST_REJECTED);
    assert_eq!(said(&mut server, stream, &[1]), [Action::Abandon { stream, code }]);
}

#[test]
fn unknown_and_reserved_things_are_ignored() {
    let (_, mut server) = pair();
    assert!(matches!(
        said(&mut server, 6, &[0x21])[..],
        [Action::Abandon { stream: 6, .. }]
    ));
    server.receive(2, &frames::encode(0x21, b"grease"));
    server.receive(2, &frames::encode(frames::MAX_PUSH_ID, &[7]));
    server.receive(SESSION, &frames::encode(0x40, &[0; 9000]));
    assert_eq!(actions(&mut server), []);
}
