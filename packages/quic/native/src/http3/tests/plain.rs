//! Requests of plain HTTP and their responses.

use super::*;
use crate::http3;

const GET: [(&str, &str); 4] = [
    (":method", "GET"),
    (":scheme", "https"),
    (":authority", "a:1"),
    (":path", "/x?y"),
];

fn taking() -> Http3 {
    let mut server = server();
    server.take_plain();
    server
}

fn asked(machine: &mut Http3, stream: u64, list: &[(&str, &str)]) -> Vec<Action> {
    said(machine, stream, &headers_frame(&fields(list)))
}

#[test]
fn a_request_reaches_the_driver_and_the_rest_of_its_stream_is_not_read() {
    let mut server = taking();
    let list = [
        &GET[..],
        &[("accept", "*/*"), ("content-length", "3"), ("content-length", "3")],
    ]
    .concat();
    let head = headers_frame(&fields(&list));
    let wire = [&head[..], &frames::encode(frames::DATA, b"abc")].concat();
    server.opened(SESSION);
    assert_eq!(server.receive(SESSION, &wire), head.len());
    let request = PlainRequest {
        method: "GET".to_owned(),
        authority: "a:1".to_owned(),
        path: "/x?y".to_owned(),
        fields: fields(&list[4..]),
        length: Some(3),
    };
    let stream = SESSION;
    assert_eq!(actions(&mut server), [Action::Requested { stream, request }]);
    assert_eq!(server.appetite(SESSION), 0);
}

#[test]
fn the_host_may_stand_in_for_the_authority() {
    let list = [GET[0], GET[1], GET[3], ("host", "b")];
    let said = asked(&mut taking(), SESSION, &list);
    assert!(matches!(&said[..], [Action::Requested { request, .. }] if request.authority == "b"));
    let options = [(":method", "OPTIONS"), GET[1], GET[2], (":path", "*")];
    assert!(matches!(
        asked(&mut taking(), SESSION, &options)[..],
        [Action::Requested { .. }]
    ));
}

#[test]
fn malformed_requests_cost_their_stream_only() {
    let with = |extra: (&'static str, &'static str)| [&GET[..], &[extra]].concat();
    let without = |at: usize| [&GET[..at], &GET[at + 1..]].concat();
    let instead = |at: usize, value: &'static str| {
        let mut list = GET.to_vec();
        list[at].1 = value;
        list
    };
    let bad = [
        without(0),
        without(1),
        without(2),
        without(3),
        instead(0, ""),
        instead(0, "G T"),
        instead(1, "ftp"),
        instead(2, ""),
        instead(3, ""),
        instead(3, "x"),
        instead(3, "*"),
        instead(3, "/a b"),
        with(("host", "other")),
        with((":protocol", "webtransport")),
        with((":status", "200")),
        with(("te", "gzip")),
        with(("content-length", "-1")),
        with(("content-length", "+1")),
        with(("content-length", "99999999999999999999")),
        [&GET[..], &[("content-length", "1"), ("content-length", "2")]].concat(),
    ];
    for list in bad {
        let (stream, code) = (SESSION, codes::MESSAGE_ERROR);
        let mut server = taking();
        assert_eq!(
            asked(&mut server, stream, &list),
            [Action::Abandon { stream, code }],
            "{list:?}"
        );
        assert!(matches!(asked(&mut server, 4, &GET)[..], [Action::Requested { .. }]));
    }
}

#[test]
fn requests_that_are_not_over_are_bounded() {
    let mut server = taking();
    for n in 0..REQUESTS as u64 {
        assert!(matches!(
            asked(&mut server, 4 * n, &GET)[..],
            [Action::Requested { .. }]
        ));
    }
    let (stream, code) = (4 * REQUESTS as u64, codes::REQUEST_REJECTED);
    assert_eq!(asked(&mut server, stream, &GET), [Action::Abandon { stream, code }]);
    server.request_over();
    assert!(matches!(
        asked(&mut server, stream + 4, &GET)[..],
        [Action::Requested { .. }]
    ));
    server.refuse(stream + 4, 503);
    assert!(matches!(
        actions(&mut server)[..],
        [Action::Write { end: true, .. }, Action::Stop { .. }]
    ));
    assert!(matches!(
        asked(&mut server, stream + 8, &GET)[..],
        [Action::Requested { .. }]
    ));
}

#[test]
fn after_goaway_requests_are_rejected() {
    let mut server = taking();
    assert!(matches!(
        asked(&mut server, SESSION, &GET)[..],
        [Action::Requested { .. }]
    ));
    server.go_away();
    assert!(matches!(actions(&mut server)[..], [Action::Control(_)]));
    let (stream, code) = (4, codes::REQUEST_REJECTED);
    assert_eq!(asked(&mut server, stream, &GET), [Action::Abandon { stream, code }]);
}

/// Returns the trailers of these frames, or their fault.
fn trailing(list: &[(&str, &str)]) -> Result<Fields, Fault> {
    let (mut body, wire) = (Message::request(None), http3::trailers(&fields(list)));
    assert_eq!(body.next(&mut &wire[..])?, None);
    body.finish()
}

#[test]
fn trailers_have_no_pseudo_headers() {
    let list = [("grpc-status", "0"), ("grpc-message", "")];
    assert_eq!(trailing(&list), Ok(fields(&list)));
    assert_eq!(trailing(&[]), Ok(Fields::new()));
    let malformed = Err(Fault::Message(codes::MESSAGE_ERROR));
    for list in [[(":status", "200")], [("Upper", "x")], [("connection", "close")]] {
        assert_eq!(trailing(&list), malformed);
    }
    let large = "x".repeat(http3::limits::FIELD_BYTES - 20);
    assert_eq!(trailing(&[("a", &large)]), Err(Fault::Message(codes::EXCESSIVE_LOAD)));
    let undecodable = frames::encode(frames::HEADERS, b"any");
    let fault = Message::request(None).next(&mut &undecodable[..]);
    assert!(matches!(
        fault,
        Err(Fault::Connection(codes::QPACK_DECOMPRESSION_FAILED, _))
    ));
}

/// Head, body and trailers.
type Parts = (Option<(u16, Fields)>, Vec<u8>, Fields);

/// Returns the parts of a message in these frames, or its fault.
fn read(mut message: Message, wire: &[u8]) -> Result<Parts, Fault> {
    let (mut head, mut body, mut input) = (None, Vec::new(), wire);
    while let Some(part) = message.next(&mut input)? {
        match part {
            Part::Head(status, fields) => head = Some((status, fields)),
            Part::Data(data) => body.extend_from_slice(data),
        }
    }
    Ok((head, body, message.finish()?))
}

/// Returns the body of these frames, or its fault.
fn body(length: Option<u64>, wire: &[u8]) -> Result<Vec<u8>, Fault> {
    let (head, body, _) = read(Message::request(length), wire)?;
    assert_eq!(head, None);
    Ok(body)
}

#[test]
fn a_body_is_what_its_data_frames_carry() {
    let data = |text: &[u8]| [&data_header(text.len())[..], text].concat();
    let wire = [data(b"ab"), frames::encode(0x21, b"grease"), data(b""), data(b"cd")].concat();
    assert_eq!(body(None, &wire), Ok(b"abcd".to_vec()));
    assert_eq!(body(Some(4), &wire), Ok(b"abcd".to_vec()));
    let malformed = Err(Fault::Message(codes::MESSAGE_ERROR));
    assert_eq!(body(Some(3), &wire), malformed);
    assert_eq!(body(Some(5), &wire), malformed);
    assert_eq!(body(Some(0), b""), Ok(Vec::new()));
    let trailers = http3::trailers(&fields(&[("a", "b")]));
    assert_eq!(body(None, &[&wire[..], &trailers].concat()), Ok(b"abcd".to_vec()));
    for more in [
        &trailers,
        &data(b"x"),
        &frames::encode(frames::SETTINGS, b""),
        &vec![8, 0],
    ] {
        let fault = body(None, &[&wire[..], &trailers, more].concat());
        assert!(
            matches!(fault, Err(Fault::Connection(codes::FRAME_UNEXPECTED, _))),
            "{more:?}"
        );
    }
    assert!(matches!(
        body(None, &wire[..3]),
        Err(Fault::Connection(codes::FRAME_ERROR, _))
    ));
    let large = [1, 0x80, 0, 0x40, 1];
    assert!(matches!(
        body(None, &large),
        Err(Fault::Connection(codes::EXCESSIVE_LOAD, _))
    ));
}

fn response(method: &str, frames: &[Vec<u8>]) -> Result<Parts, Fault> {
    read(Message::response(method), &frames.concat())
}

#[test]
fn a_request_of_this_client_is_one_of_this_server() {
    let list = [&GET[..], &[("accept", "*/*")]].concat();
    let Some(Action::Requested { request, .. }) = asked(&mut taking(), SESSION, &list).pop() else {
        panic!("no request")
    };
    assert_eq!(request.encode(), headers_frame(&fields(&list)));
}

#[test]
fn a_response_has_a_head_a_body_and_trailers_after_any_interim_responses() {
    let data = [&data_header(2)[..], b"ab"].concat();
    let head = http3::head(200, &fields(&[("content-length", "2")]));
    let trailers = http3::trailers(&fields(&[("grpc-status", "0")]));
    let interim = http3::head(103, &fields(&[("link", "x")]));
    let limit = http3::limits::INTERIM_RESPONSES as usize;
    let fault = response("GET", &vec![interim.clone(); limit + 1]);
    assert_eq!(fault, Err(Fault::Message(codes::EXCESSIVE_LOAD)));
    let mut frames = vec![interim; limit];
    frames.extend([head.clone(), data.clone(), trailers]);
    let (got, body, trailers) = response("GET", &frames).unwrap();
    assert_eq!(got, Some((200, fields(&[("content-length", "2")]))));
    assert_eq!((&body[..], trailers), (&b"ab"[..], fields(&[("grpc-status", "0")])));

    let malformed = Err(Fault::Message(codes::MESSAGE_ERROR));
    assert!(response("HEAD", &[head.clone()]).is_ok());
    assert_eq!(response("HEAD", &[head.clone(), data.clone()]), malformed);
    assert_eq!(response("GET", &[head.clone()]), malformed);
    assert_eq!(response("GET", &[head.clone(), data.clone(), data.clone()]), malformed);
    for status in [204, 304] {
        let head = http3::head(status, &fields(&[("content-length", "5")]));
        assert!(response("GET", &[head.clone()]).is_ok());
        assert_eq!(response("GET", &[head, data.clone()]), malformed);
    }
}

#[test]
fn malformed_responses_cost_their_stream_and_frames_out_of_order_the_connection() {
    let data = [&data_header(2)[..], b"ab"].concat();
    let (head, code) = (http3::head(200, &Fields::new()), codes::MESSAGE_ERROR);
    for list in [
        &[][..],
        &[(":status", "99")],
        &[(":status", "101")],
        &[(":status", "2000")],
        &[(":status", "200"), (":status", "200")],
        &[(":status", "200"), (":path", "/")],
        &[("a", "b"), (":status", "200")],
        &[(":status", "200"), ("Upper", "x")],
        &[(":status", "200"), ("connection", "close")],
        &[(":status", "200"), ("content-length", "x")],
    ] {
        let frame = headers_frame(&fields(list));
        assert_eq!(response("GET", &[frame]), Err(Fault::Message(code)), "{list:?}");
    }
    assert_eq!(response("GET", &[]), Err(Fault::Message(code)));
    let large = "x".repeat(http3::limits::FIELD_BYTES - 20);
    let fault = response("GET", &[http3::head(200, &fields(&[("a", &large)]))]);
    assert_eq!(fault, Err(Fault::Message(codes::EXCESSIVE_LOAD)));
    let kind = |kind| frames::encode(kind, &[0]);
    for frames in [
        vec![data.clone()],
        vec![kind(frames::PUSH_PROMISE)],
        vec![kind(frames::SETTINGS)],
        vec![head.clone(), kind(frames::PUSH_PROMISE)],
        vec![head.clone(), data.clone(), http3::trailers(&Fields::new()), data],
        vec![head.clone(), http3::trailers(&Fields::new()), kind(frames::GOAWAY)],
        vec![vec![8, 0]],
    ] {
        let fault = response("GET", &frames);
        assert!(
            matches!(fault, Err(Fault::Connection(codes::FRAME_UNEXPECTED, _))),
            "{frames:?}"
        );
    }
}
