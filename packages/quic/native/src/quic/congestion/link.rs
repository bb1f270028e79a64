//! Simulates congestion windows over one link with a rate, a queue, a delay and random loss, on a virtual clock.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::{Duration, Instant};

use super::window::Window;

const PACKET: u64 = 1200;
/// Number of packets received after a missing one until it counts as lost (RFC 9002 §6.1.1).
const REORDERING: u64 = 3;

struct Link {
    /// Bits per second.
    rate: f64,
    /// Maximum number of packets in the queue.
    queue: usize,
    /// One-way delay.
    delay: Duration,
    /// Share of packets lost at random.
    loss: f64,
}

struct Flow {
    window: Window,
    /// Treats every loss as congestion, as plain CUBIC does.
    plain: bool,
    next: u64,
    in_flight: BTreeMap<u64, Instant>,
    sent: u64,
    delivered: u64,
    overflowed: u64,
    paced_until: Option<Instant>,
    waking: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Acknowledged(usize, u64),
    Wake(usize),
}

impl Flow {
    fn new(plain: bool) -> Self {
        Flow {
            window: Window::new(12_000, PACKET as u16),
            plain,
            next: 0,
            in_flight: BTreeMap::new(),
            sent: 0,
            delivered: 0,
            overflowed: 0,
            paced_until: None,
            waking: false,
        }
    }
}

/// Every flow sends as much as its window allows, for `length`.
fn run(link: &Link, flows: &mut [Flow], length: Duration) {
    let start = Instant::now();
    let mut events = BinaryHeap::new();
    let mut order = 0_u64;
    let mut free_at = start;
    let mut random = 88_172_645_463_325_252_u64;
    let mut chance = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 11) as f64 / (1_u64 << 53) as f64
    };
    let on_the_wire = Duration::from_secs_f64((PACKET * 8) as f64 / link.rate);
    for index in 0..flows.len() {
        events.push(Reverse((start, order, Event::Wake(index))));
        order += 1;
    }
    while let Some(Reverse((now, _, event))) = events.pop() {
        if now - start > length {
            break;
        }
        let index = match event {
            Event::Wake(index) => {
                flows[index].waking = false;
                index
            }
            Event::Acknowledged(index, number) => {
                acknowledge(&mut flows[index], now, number);
                index
            }
        };
        let flow = &mut flows[index];
        while (flow.in_flight.len() as u64 + 1) * PACKET <= flow.window.size() {
            if let Some(until) = flow.paced_until
                && until > now
            {
                if !flow.waking {
                    flow.waking = true;
                    events.push(Reverse((until, order, Event::Wake(index))));
                    order += 1;
                }
                break;
            }
            let spacing = (link.delay * 2).mul_f64(PACKET as f64 / flow.window.size() as f64 / 1.25);
            flow.paced_until = Some(flow.paced_until.map_or(now, |until| until.max(now - link.delay / 8)) + spacing);
            flow.in_flight.insert(flow.next, now);
            let number = flow.next;
            flow.next += 1;
            flow.sent += 1;
            if chance() < link.loss {
                continue;
            }
            if free_at.saturating_duration_since(now) > on_the_wire * link.queue as u32 {
                flow.overflowed += 1;
                continue;
            }
            free_at = free_at.max(now) + on_the_wire;
            let acknowledged = Event::Acknowledged(index, number);
            events.push(Reverse((free_at + link.delay * 2, order, acknowledged)));
            order += 1;
        }
    }
}

fn acknowledge(flow: &mut Flow, now: Instant, number: u64) {
    let Some(sent) = flow.in_flight.remove(&number) else {
        return;
    };
    flow.delivered += 1;
    let in_flight = flow.in_flight.len() as u64 * PACKET;
    flow.window.acknowledge(sent, PACKET);
    flow.window.settle(now, in_flight);
    let later = flow
        .in_flight
        .split_off(&(number.saturating_sub(REORDERING) + 1).min(number));
    let lost = std::mem::replace(&mut flow.in_flight, later);
    if let Some((_, newest)) = lost.last_key_value() {
        let bytes = if flow.plain { 0 } else { lost.len() as u64 * PACKET };
        flow.window.lose(now, *newest, bytes);
    }
}

fn utilisation(link: &Link, flows: &[Flow], length: Duration) -> f64 {
    let delivered: u64 = flows.iter().map(|flow| flow.delivered).sum();
    (delivered * PACKET * 8) as f64 / link.rate / length.as_secs_f64()
}

const SLOW: Link = Link {
    rate: 20e6,
    queue: 50,
    delay: Duration::from_millis(8),
    loss: 0.0,
};

#[test]
fn a_slow_link_with_a_short_queue_is_filled_and_loses_little() {
    let mut flows = [Flow::new(false)];
    run(&SLOW, &mut flows, Duration::from_secs(30));
    let [flow] = &flows;
    assert!(utilisation(&SLOW, &flows, Duration::from_secs(30)) > 0.9);
    assert!(
        (flow.overflowed as f64) < flow.sent as f64 * 0.01,
        "{} of {}",
        flow.overflowed,
        flow.sent
    );
}

#[test]
fn random_loss_does_not_collapse_the_window() {
    let lossy = Link {
        rate: 100e6,
        queue: 200,
        loss: 0.03,
        ..SLOW
    };
    let length = Duration::from_secs(10);
    let (mut steady, mut plain) = ([Flow::new(false)], [Flow::new(true)]);
    run(&lossy, &mut steady, length);
    run(&lossy, &mut plain, length);
    let (steady, plain) = (
        utilisation(&lossy, &steady, length),
        utilisation(&lossy, &plain, length),
    );
    assert!(steady > 0.8, "{steady}");
    assert!(plain < 0.2, "{plain}");
}

#[test]
fn two_of_a_kind_share_a_slow_link() {
    let mut flows = [Flow::new(false), Flow::new(false)];
    run(&SLOW, &mut flows, Duration::from_secs(60));
    assert!(share(&flows) > 0.35, "{}", share(&flows));
}

#[test]
fn a_flow_that_takes_every_loss_for_congestion_gets_its_share() {
    let mut flows = [Flow::new(true), Flow::new(false)];
    run(&SLOW, &mut flows, Duration::from_secs(60));
    assert!(share(&flows) > 0.3, "{}", share(&flows));
    let mut flows = [Flow::new(true), Flow::new(true), Flow::new(true), Flow::new(false)];
    run(&SLOW, &mut flows, Duration::from_secs(60));
    flows.reverse();
    assert!((0.1..0.5).contains(&share(&flows)), "{}", share(&flows));
}

#[test]
fn a_path_that_loses_a_fifth_of_all_packets_is_taken_for_full() {
    let broken = Link {
        rate: 1e9,
        queue: 10_000,
        loss: 0.2,
        ..SLOW
    };
    let mut flows = [Flow::new(false)];
    run(&broken, &mut flows, Duration::from_secs(5));
    assert!(flows[0].window.size() < 20 * PACKET);
}

/// Share of all delivered bytes that the first flow received.
fn share(flows: &[Flow]) -> f64 {
    let all: u64 = flows.iter().map(|flow| flow.delivered).sum();
    flows[0].delivered as f64 / all as f64
}
