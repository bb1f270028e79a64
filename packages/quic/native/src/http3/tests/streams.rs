//! Streams and datagrams of sessions, including those that arrive before their session.

use super::*;

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
    // QUIC opens streams in order (RFC 9000 §3.2), even if bytes of a later one arrive first.
    server.opened(SESSION);
    for (stream, kind) in [(4, WT_BIDI), (6, WT_UNI)] {
        assert_eq!(said(&mut server, stream, &header(kind, SESSION)), []);
        assert_eq!(server.appetite(stream), 0);
    }
    for n in 0..2000u16 {
        assert_eq!(server.datagram(&[&[0][..], &n.to_be_bytes()].concat()), None);
    }
    // Streams of a session that may never come.
    for n in 0..HELD_STREAMS as u64 - 2 {
        assert_eq!(said(&mut server, 10 + 4 * n, &header(WT_UNI, 4000)), []);
    }
    let code = codes::WT_BUFFERED_STREAM_REJECTED;
    let stream = 10 + 4 * (HELD_STREAMS as u64 - 2);
    assert_eq!(
        said(&mut server, stream, &header(WT_UNI, 4000)),
        [Action::Abandon { stream, code }]
    );

    server.receive(SESSION, &request().encode(false));
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
    said(&mut server, SESSION, &request().encode(false));
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
