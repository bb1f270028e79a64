//! Flow control of sessions, and the SETTINGS that clients of each draft send.

use super::super::credit::{ANNOUNCED, Credit, GRANTED};
use super::*;

const DRAFT02: (u64, u64) = (0x2b60_3742, 1);
const DRAFT07: (u64, u64) = (0xc671_706a, 1);
const DRAFT13: (u64, u64) = (0x14e9_cd29, 1);
const DRAFT15: (u64, u64) = (0x2c7c_f000, 1);
const DATAGRAMS: (u64, u64) = (0x33, 1);
const SCARCE: Credit = Credit {
    data: 8 << 20,
    streams: [100, 90],
};
const LIMITS: [(u64, u64); 3] = [(0x2b61, 8 << 20), (0x2b64, 90), (0x2b65, 100)];

/// Makes a control stream with these SETTINGS.
fn control(settings: &[&[(u64, u64)]]) -> Vec<u8> {
    let mut payload = Vec::new();
    for &(id, value) in settings.concat().iter() {
        varint::put(id, &mut payload);
        varint::put(value, &mut payload);
    }
    [&[CONTROL as u8][..], &frames::encode(frames::SETTINGS, &payload)].concat()
}

/// Makes a server with an open session of a client that has sent these SETTINGS, and its response.
fn serving(settings: &[&[(u64, u64)]]) -> (Http3, Vec<u8>) {
    let mut server = Http3::new(Role::Server, 4);
    said(&mut server, 2, &control(settings));
    said(&mut server, SESSION, &request().encode(false));
    server.accept(SESSION, None, &Fields::new());
    let answer = write_of(actions(&mut server));
    (server, answer)
}

fn capsule(kind: u64, value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    varint::put(value, &mut bytes);
    capsule::encode(kind, &bytes)
}

#[test]
fn credit_is_granted_by_capsules_to_those_who_may_look_for_nothing_else() {
    let grant = capsule::grant(GRANTED);
    let safari = serving(&[&[DATAGRAMS, DRAFT07, DRAFT13], &LIMITS]);
    assert!(safari.1.ends_with(&grant));
    for settings in [
        &[&[DATAGRAMS, DRAFT02][..]][..],
        &[&[DATAGRAMS, DRAFT13]],
        &[&[DATAGRAMS, DRAFT15], &LIMITS],
        &[&[DATAGRAMS, DRAFT02, DRAFT13, DRAFT15], &LIMITS],
    ] {
        assert!(!serving(settings).1.ends_with(&grant), "{settings:?}");
    }
    // More than in SETTINGS: a capsule that grants nothing new is an error.
    assert!(GRANTED.data > ANNOUNCED.data && GRANTED.streams > ANNOUNCED.streams);
}

#[test]
fn the_limits_of_the_peer_are_those_of_its_settings_until_capsules_raise_them() {
    let (mut server, _) = serving(&[&[DATAGRAMS, DRAFT15], &LIMITS]);
    assert_eq!(server.credit(SESSION), Some(SCARCE));
    let raise = |data, bidirectional, unidirectional| Action::Credited {
        session: SESSION,
        credit: Credit {
            data,
            streams: [bidirectional, unidirectional],
        },
    };
    for (kind, value, expected) in [
        (0x190b_4d3d, 9 << 20, vec![raise(9 << 20, 100, 90)]),
        (0x190b_4d3f, 101, vec![raise(9 << 20, 101, 90)]),
        (0x190b_4d40, 1000, vec![raise(9 << 20, 101, 1000)]),
        // Earlier drafts allow to repeat a limit.
        (0x190b_4d40, 1000, vec![]),
        (0x190b_4d41, 3, vec![]),
        (0x190b_4d43, 3, vec![]),
        (0x190b_4d44, 3, vec![]),
    ] {
        server.receive(SESSION, &capsule(kind, value));
        assert_eq!(actions(&mut server), expected, "{kind:#x}");
    }
}

#[test]
fn a_limit_that_shrinks_and_what_the_draft_forbids_end_the_session() {
    let flow = codes::WT_FLOW_CONTROL_ERROR;
    let malformed = codes::MESSAGE_ERROR;
    let empty = |kind| capsule::encode(kind, b"");
    for (bytes, code) in [
        (capsule(0x190b_4d3d, (8 << 20) - 1), flow),
        (capsule(0x190b_4d3f, 99), flow),
        (capsule(0x190b_4d40, (1 << 60) + 1), flow),
        (capsule(0x190b_4d43, (1 << 60) + 1), flow),
        (capsule(0x190b_4d3e, 7), malformed),
        (capsule(0x190b_4d42, 7), malformed),
        (empty(0x190b_4d3d), malformed),
        (capsule::encode(0x190b_4d3d, &[0x40]), malformed),
        (capsule::encode(0x190b_4d3d, &[7, 7]), malformed),
        (capsule::encode(0x190b_4d3d, &[7; 9]), malformed),
    ] {
        let (mut server, _) = serving(&[&[DATAGRAMS, DRAFT15], &LIMITS]);
        server.receive(SESSION, &bytes);
        let session = SESSION;
        let end = End::Gone { code };
        assert_eq!(
            actions(&mut server),
            [
                Action::Ended { session, end },
                Action::Abandon { stream: session, code }
            ],
            "{bytes:?}"
        );
    }
}

#[test]
fn without_flow_control_its_capsules_mean_nothing_and_a_limit_out_of_reach_is_none() {
    for settings in [&[DATAGRAMS, DRAFT02][..], &[DATAGRAMS, DRAFT15, (0x2b61, 0)]] {
        let (mut server, _) = serving(&[settings]);
        assert_eq!(server.credit(SESSION), None);
        server.receive(SESSION, &capsule(0x190b_4d3d, 5));
        server.receive(SESSION, &capsule(0x190b_4d3d, 4));
        assert_eq!(actions(&mut server), []);
    }
    let (client, _) = pair();
    assert_eq!(client.credit(SESSION), None);
}

#[test]
fn one_limit_alone_turns_flow_control_on_and_leaves_the_others_at_none() {
    let (server, _) = serving(&[&[DATAGRAMS, DRAFT15, (0x2b64, 3)]]);
    let credit = Credit {
        data: 0,
        streams: [0, 3],
    };
    assert_eq!(server.credit(SESSION), Some(credit));
}

#[test]
fn a_session_tells_which_limit_holds_it_up() {
    let (mut server, _) = serving(&[&[DATAGRAMS, DRAFT15], &LIMITS]);
    server.data_blocked(SESSION, 8 << 20);
    server.streams_blocked(SESSION, true, 90);
    server.streams_blocked(SESSION, false, 100);
    let told: Vec<u8> = actions(&mut server)
        .into_iter()
        .flat_map(|action| write_of(vec![action]))
        .collect();
    let expected = [
        capsule(0x190b_4d41, 8 << 20),
        capsule(0x190b_4d44, 90),
        capsule(0x190b_4d43, 100),
    ];
    assert_eq!(told, expected.concat());
}

#[test]
fn a_client_asks_in_the_words_that_the_server_announces() {
    for (settings, word) in [
        (&[DRAFT02, DRAFT15][..], "webtransport"),
        (&[DRAFT13, DRAFT15], "webtransport"),
        (&[DRAFT07], "webtransport"),
        (&[DRAFT15], "webtransport-h3"),
    ] {
        let mut client = Http3::new(Role::Client, 1);
        client.request(SESSION, &request());
        let asked = write_of(said(&mut client, 3, &control(&[&[DATAGRAMS], settings])));
        assert_eq!(asked, request().encode(word == "webtransport-h3"), "{settings:?}");
    }
}

#[test]
fn a_request_that_overtakes_the_settings_waits_for_them() {
    let mut server = Http3::new(Role::Server, 4);
    server.opened(SESSION);
    let asking = request().encode(false);
    let taken = server.receive(SESSION, &asking);
    assert!(taken < asking.len());
    assert_eq!(server.appetite(SESSION), 0);
    assert_eq!(
        said(&mut server, 2, &control(&[&[DATAGRAMS, DRAFT15], &LIMITS])),
        [Action::Read { stream: SESSION }]
    );
    server.receive(SESSION, &asking[taken..]);
    assert!(matches!(actions(&mut server)[..], [Action::Asked { .. }]));
    server.accept(SESSION, None, &Fields::new());
    assert_eq!(server.credit(SESSION), Some(SCARCE));
}
