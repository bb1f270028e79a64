//! Sessions: how many, and how they end.

use super::*;

#[test]
fn several_sessions_share_a_connection_up_to_the_limit() {
    let (_, mut server) = pair();
    for session in [4, 8, 12] {
        assert_eq!(said(&mut server, session, &request().encode(false)).len(), 1);
        server.accept(session, None, &Fields::new());
        actions(&mut server);
    }
    let refusal = said(&mut server, 16, &request().encode(false));
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
fn streams_of_a_session_that_is_closed_here_are_left_alone_until_the_peer_knows() {
    let (_, mut server) = pair();
    said(&mut server, 4, &header(WT_BIDI, SESSION));
    server.close(SESSION, 7, b"");
    server.leave(SESSION, 4);
    actions(&mut server);
    assert!(server.is_left(4));
    // Opened before the peer knew of the end.
    assert_eq!(said(&mut server, 8, &header(WT_BIDI, SESSION)), []);
    assert_eq!([4, 8].map(|stream| server.appetite(stream)), [0, 0]);
    server.finished(SESSION);
    let code = codes::WT_SESSION_GONE;
    assert_eq!(
        actions(&mut server),
        [4, 8].map(|stream| Action::Abandon { stream, code })
    );
    // The session has ended: nothing waits any more.
    server.leave(SESSION, 12);
    assert!(!server.is_left(12));
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
        self::said(&mut server, 4, &request().encode(false)),
        [Action::Abandon { stream: 4, code }]
    );
    assert_eq!(server.datagram(b"\0x"), Some((SESSION, 1)));
    client.receive(3, &frames::encode(frames::GOAWAY, &[8]));
    assert_eq!(failure(&actions(&mut client)), Some(codes::ID_ERROR));
}
