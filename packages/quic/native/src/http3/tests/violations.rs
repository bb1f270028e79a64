//! Violations of HTTP/3, and input that HTTP/3 requires to be ignored.

use super::*;

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
        // The connection ignores everything after that.
        assert_eq!(said(&mut server, 0, &request().encode(false)), []);
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
