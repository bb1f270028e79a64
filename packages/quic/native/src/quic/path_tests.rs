//! Connections with the engine's settings over simulated paths.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use quinn_proto as qp;
use quinn_proto::crypto::rustls::{HandshakeData, QuicClientConfig};
use rustls::NamedGroup;

use crate::bridge::layout::Settings;
use crate::quic::config::Remote;
use crate::quic::secret::Secret;
use crate::quic::simulated_pair::{CLIENT, Pair, SERVER};
use crate::quic::tls::provider;
use crate::quic::tls::tests::{client_config, client_config_of, sessions};

const MS: Duration = Duration::from_millis(1);

/// Returns a connected pair with the defaults of src/limits.ts. `path` returns how long a packet takes, or None if it
/// is lost.
fn connect(mut path: impl FnMut() -> Option<Duration> + 'static) -> Pair {
    connect_ends(30_000 * MS, move |_| path())
}

/// Like `connect`, with an idle timeout; `path` receives the end that sends.
fn connect_ends(idle_timeout: Duration, path: impl FnMut(usize) -> Option<Duration> + 'static) -> Pair {
    let (client, server) = ends(idle_timeout);
    let mut pair = Pair::new(client, server, path);
    pair.run_for(5000 * MS);
    pair
}

/// The settings of both ends, with the defaults of src/limits.ts.
fn ends(idle_timeout: Duration) -> (qp::ClientConfig, qp::ServerConfig) {
    let idle_timeout = idle_timeout.as_millis() as f64;
    let settings = Settings::from_numbers(&[
        idle_timeout,
        0.,
        1000.,
        100.,
        1e4,
        0.,
        6e6,
        24e6,
        8e6,
        1e6,
        0.,
        1.,
        3.,
        1.,
        0.,
        1e6,
        0.,
        10.,
        10.,
        10.,
        5.,
        5.,
        1e4,
        0.,
        0.,
    ]);
    let transport = settings.unwrap().transport(Remote::Elsewhere).ok().unwrap();
    let token_key = Secret::new(&[], &[]).ok().unwrap().token_key();
    let mut server = qp::ServerConfig::new(sessions(false, 2), token_key);
    server.transport_config(transport.clone());
    let tls = QuicClientConfig::try_from(client_config(provider().cipher_suites.clone())).unwrap();
    let mut client = qp::ClientConfig::new(Arc::new(tls));
    client.transport_config(transport);
    (client, server)
}

/// The TLS group of an end that has completed its handshake.
fn group(pair: &mut Pair, end: usize) -> NamedGroup {
    let session = pair.connection(end).crypto_session();
    let data = session.handshake_data().unwrap().downcast::<HandshakeData>();
    data.ok().unwrap().negotiated_key_exchange_group
}

/// The client's first message takes two datagrams, since the share of X25519MLKEM768 has 1,216 bytes.
#[test]
fn a_handshake_survives_the_loss_of_either_half_of_the_clients_hello() {
    for retries in [false, true] {
        // After a Retry the hello is sent again, so its halves are the third and the fourth datagram.
        let halves = if retries { [2, 3] } else { [0, 1] };
        for lost in [&[][..], &halves[..1], &halves[1..], &halves[..]] {
            let lost = lost.to_vec();
            let sent = Rc::new(Cell::new(0));
            let count = sent.clone();
            let (client, server) = ends(30_000 * MS);
            let mut pair = Pair::new(client, server, move |end| {
                let number = count.get();
                count.set(number + u32::from(end == CLIENT));
                (end == SERVER || !lost.contains(&number)).then_some(20 * MS)
            });
            pair.retries = retries;
            pair.run_for(10 * MS);
            assert_eq!(sent.get(), 2, "datagrams of the first flight");
            pair.run_for(5000 * MS);
            for end in [CLIENT, SERVER] {
                assert!(!pair.connection(end).is_handshaking());
                assert_eq!(group(&mut pair, end), NamedGroup::X25519MLKEM768);
            }
        }
    }
}

#[test]
fn a_client_without_the_hybrid_group_connects_by_x25519_within_one_round_trip() {
    let (_, server) = ends(30_000 * MS);
    let mut provider = (*provider()).clone();
    provider.kx_groups.retain(|group| group.name() == NamedGroup::X25519);
    let tls = QuicClientConfig::try_from(client_config_of(provider)).unwrap();
    let client = qp::ClientConfig::new(Arc::new(tls));
    let mut pair = Pair::new(client, server, |_| Some(20 * MS));
    pair.run_for(100 * MS);
    for end in [CLIENT, SERVER] {
        assert_eq!(group(&mut pair, end), NamedGroup::X25519);
    }
}

/// The server sends an item of `size` bytes on each of four streams every 50 ms, over a link that is cut for `cut`.
/// Returns how long after the cut the client receives the next item. With `pings` the client sends a PING every second.
fn silence_after(cut: Duration, size: usize, pings: bool) -> Duration {
    let is_cut = Rc::new(Cell::new(false));
    let link = is_cut.clone();
    let mut pair = connect(move || (!link.get()).then_some(20 * MS));
    let streams = [(); 4].map(|()| pair.connection(SERVER).streams().open(qp::Dir::Uni).unwrap());
    let item = vec![7; size];
    let mut turns = 0;
    let mut turn = |pair: &mut Pair| {
        turns += 1;
        if pings && turns % 20 == 0 {
            pair.connection(CLIENT).ping();
        }
        for &stream in &streams {
            // Blocked while the send window is full.
            let _ = pair.connection(SERVER).send_stream(stream).write(&item);
        }
        pair.run_for(50 * MS);
        streams.iter().any(|&stream| !pair.read(CLIENT, stream).is_empty())
    };
    for _ in 0..60 {
        turn(&mut pair);
    }
    // The last data arrives, and its acknowledgements are lost.
    for &stream in &streams {
        pair.connection(SERVER).send_stream(stream).write(&item).unwrap();
    }
    pair.run_for(10 * MS);
    is_cut.set(true);
    let end = pair.now + cut;
    while pair.now < end {
        turn(&mut pair);
    }
    is_cut.set(false);
    while !turn(&mut pair) {
        assert!(pair.now - end < 20_000 * MS, "the server stays silent");
    }
    pair.now - end
}

#[test]
fn a_server_sends_again_within_two_seconds_after_a_link_was_cut() {
    for seconds in [4, 6, 8, 10, 12] {
        for size in [20, 200, 2000] {
            for pings in [false, true] {
                let silence = silence_after(seconds * 1000 * MS, size, pings);
                assert!(
                    silence <= 2100 * MS,
                    "cut for {seconds} s, items of {size} bytes, pings {pings}: {silence:?}"
                );
            }
        }
    }
}

/// Returns how long an upload of 300 kB takes if each packet takes `base` plus up to `jitter`, so that packets overtake
/// one another. A share `loss` of them is lost.
fn upload(base: Duration, jitter: Duration, loss: f64) -> Duration {
    const BYTES: usize = 300_000;
    let mut random = 88_172_645_463_325_252_u64;
    let mut chance = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut pair = connect(move || {
        let time = base + jitter.mul_f64(chance());
        (chance() >= loss).then_some(time)
    });
    let stream = pair.connection(CLIENT).streams().open(qp::Dir::Uni).unwrap();
    assert_eq!(
        pair.connection(CLIENT).send_stream(stream).write(&[7; BYTES]),
        Ok(BYTES)
    );
    let (start, mut read) = (pair.now, 0);
    while read < BYTES {
        pair.run_for(10 * MS);
        read += pair.read(SERVER, stream).len();
        assert!(pair.now - start < 120_000 * MS, "{read} bytes have arrived");
    }
    pair.now - start
}

#[test]
fn an_upload_takes_about_as_long_over_a_path_that_reorders_packets() {
    for (base, jitter) in [(20, 5), (20, 40), (0, 500)] {
        let in_order = upload((base + jitter / 2) * MS, Duration::ZERO, 0.0);
        for loss in [0.0, 0.03] {
            let reordered = upload(base * MS, jitter * MS, loss);
            let most = in_order.mul_f64(1.5) + 50 * MS;
            assert!(
                reordered <= most,
                "{base} to {} ms, loss of {loss}: {reordered:?} instead of {in_order:?}",
                base + jitter
            );
        }
    }
}

/// The server sends 100 kB; the packets in `late` (in sending order) arrive 40 ms after the others, and with `moves`
/// the client changes its address before they are acknowledged. Returns the window before the loss, after packets
/// counted as lost, and at the end.
fn windows(moves: bool, late: std::ops::Range<u32>) -> [u64; 3] {
    let sent = Rc::new(Cell::new(None::<u32>));
    let count = sent.clone();
    let mut pair = connect_ends(30_000 * MS, move |end| {
        let packet = count.get().filter(|_| end == SERVER);
        count.set(count.get().map(|sent| sent + u32::from(end == SERVER)));
        Some(if packet.is_some_and(|packet| late.contains(&packet)) {
            60 * MS
        } else {
            20 * MS
        })
    });
    let window = |pair: &mut Pair| pair.connection(SERVER).congestion_state().window();
    let stream = pair.connection(SERVER).streams().open(qp::Dir::Uni).unwrap();
    for _ in 0..4 {
        pair.connection(SERVER).send_stream(stream).write(&[7; 60_000]).unwrap();
        pair.run_for(300 * MS);
        pair.read(CLIENT, stream);
    }
    let before = window(&mut pair);
    sent.set(Some(0));
    pair.connection(SERVER)
        .send_stream(stream)
        .write(&[7; 100_000])
        .unwrap();
    pair.run_for(50 * MS);
    let reduced = window(&mut pair);
    if moves {
        pair.addresses[CLIENT].set_port(1002);
        pair.connection(CLIENT).ping();
    }
    pair.run_for(1000 * MS);
    [before, reduced, window(&mut pair)]
}

#[test]
fn late_packets_restore_the_window_of_their_own_path_only() {
    let [before, reduced, after] = windows(false, 0..30);
    assert!(reduced < before && after >= before, "{before}, {reduced}, {after}");
    let [before, reduced, after] = windows(true, 0..30);
    assert!(reduced < before && after < before, "{before}, {reduced}, {after}");
}

#[test]
fn probes_become_rare_on_a_path_that_stays_cut() {
    let probes = Rc::new(Cell::new(None::<u32>));
    let count = probes.clone();
    let mut pair = connect_ends(Duration::ZERO, move |_| {
        let Some(sent) = count.get() else {
            return Some(20 * MS);
        };
        count.set(Some(sent + 1));
        None
    });
    let stream = pair.connection(SERVER).streams().open(qp::Dir::Uni).unwrap();
    probes.set(Some(0));
    pair.connection(SERVER).send_stream(stream).write(&[7; 100]).unwrap();
    pair.run_for(30_000 * MS);
    let first = probes.take().unwrap();
    assert!((30..50).contains(&first), "{first} packets in 30 s");
    probes.set(Some(0));
    pair.run_for(3_600_000 * MS);
    let later = probes.take().unwrap();
    assert!((10..40).contains(&later), "{later} packets in an hour");
}
