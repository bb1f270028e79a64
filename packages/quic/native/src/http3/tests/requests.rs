//! Requests and their answers.

use super::*;

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
fn unfinished_requests_are_bounded() {
    let mut server = server();
    for n in 0..OPENING_REQUESTS as u64 {
        assert_eq!(said(&mut server, 4 * n, &[1, 0x40, 0xff, 0]), []);
    }
    let (stream, code) = (4 * OPENING_REQUESTS as u64, codes::REQUEST_REJECTED);
    assert_eq!(said(&mut server, stream, &[1]), [Action::Abandon { stream, code }]);
}

#[test]
fn a_request_that_was_stopped_is_cancelled_until_it_is_answered() {
    let code = codes::REQUEST_CANCELLED;
    let mut unfinished = server();
    assert_eq!(said(&mut unfinished, SESSION, &request().encode(false)[..9]), []);
    unfinished.unwanted(SESSION);
    assert_eq!(actions(&mut unfinished), [Action::Abandon { stream: SESSION, code }]);

    let mut asked = server();
    said(&mut asked, SESSION, &request().encode(false));
    asked.unwanted(SESSION);
    let session = SESSION;
    let end = End::Gone { code };
    assert_eq!(
        actions(&mut asked),
        [
            Action::Ended { session, end },
            Action::Abandon { stream: SESSION, code }
        ]
    );
    asked.accept(SESSION, None, &Fields::new());
    assert_eq!(actions(&mut asked), []);

    // Peers stop the stream of a session that they close; the reason follows.
    let (_, mut open) = pair();
    open.unwanted(SESSION);
    assert_eq!(actions(&mut open), []);
}
