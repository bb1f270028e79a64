//! The receive window of a connection's streams: how much of each may be in flight. Between processes of one machine
//! only this window limits a sender. Data sent ahead waits in the receiver's socket, and the session's calls wait
//! behind it, since a socket delivers datagrams in order.

use std::time::{Duration, Instant};

use quinn_proto::StreamId;

use crate::quic::config::Remote;
use crate::quic::receive_window::ReceiveWindow;

/// Default window of a stream in bytes, if no setting is given.
const ELSEWHERE: u64 = 4 * 1024 * 1024;
/// Window for a peer on this machine: a larger one is not faster.
const HERE: u64 = 1024 * 1024;
/// Window for a peer on this machine that makes calls during a large stream: the stream takes a tenth longer, and the
/// calls a quarter of the time.
const BESIDE_CALLS: u64 = 512 * 1024;
/// A path with a shorter round trip carries a gigabyte per second with the windows above. A path with a longer one
/// leaves this machine, through a tunnel or a relay.
const SHORT: Duration = Duration::from_millis(2);

/// Adapts the window if no setting is given and the peer is on this machine.
#[derive(Debug)]
pub struct StreamWindow {
    size: u64,
    here: Option<Box<Here>>,
}

#[derive(Debug)]
struct Here {
    /// The window of a path that proves to be long.
    long: ReceiveWindow,
    calls: Calls,
    /// Whether calls were made during a large stream at the last adaptation.
    were_beside: bool,
}

impl StreamWindow {
    /// The initial size announced to the peer; `setting` is 0 if not configured.
    pub fn first(setting: u64, remote: Remote) -> u64 {
        match (setting, remote) {
            (0, Remote::ThisMachine) => HERE,
            (0, Remote::Elsewhere) => ELSEWHERE,
            (given, _) => given,
        }
    }

    pub fn new(setting: u64, remote: Remote, now: Instant) -> Self {
        let adapts = setting == 0 && remote == Remote::ThisMachine;
        StreamWindow {
            size: Self::first(setting, remote),
            here: adapts.then(|| {
                Box::new(Here {
                    long: ReceiveWindow::new(HERE, ELSEWHERE, now),
                    calls: Calls::default(),
                    were_beside: false,
                })
            }),
        }
    }

    /// Notes that the application has read `bytes` of a stream. Returns whether to call `adapt`.
    pub fn read(&mut self, stream: StreamId, bytes: usize) -> bool {
        let Some(here) = &mut self.here else {
            return false;
        };
        let used_up = here.long.read(bytes);
        here.calls.read(stream, bytes);
        used_up || here.calls.beside != here.were_beside
    }

    /// Returns the new size, if it changes. `rtt` is the shortest round trip: a current one may include waiting behind
    /// data that this very window let into the socket.
    pub fn adapt(&mut self, now: Instant, rtt: Duration) -> Option<u64> {
        let here = self.here.as_mut()?;
        let is_long = rtt >= SHORT;
        // On a short path the size stays, and only the count restarts.
        here.long.grow(now, if is_long { rtt } else { Duration::ZERO });
        here.were_beside = here.calls.beside;
        let size = if is_long {
            here.long.size()
        } else if here.calls.beside {
            BESIDE_CALLS
        } else {
            HERE
        };
        let changes = size != self.size;
        self.size = size;
        changes.then_some(size)
    }
}

/// A read of at least this many bytes belongs to a large stream.
const LARGE: usize = 16 * 1024;
/// After reading this many bytes without a call, calls are considered to have ended.
const LAST_CALL: u64 = 64 * 1024 * 1024;
/// A large stream that is not read has ended after this many bytes of other large streams.
const OVER: u64 = 1024 * 1024;

/// Detects calls during a large stream: small reads between two reads of it.
#[derive(Debug, Default)]
struct Calls {
    beside: bool,
    /// The large stream.
    large: Option<StreamId>,
    /// Whether something small was read since the large stream was last read.
    called: bool,
    /// Bytes of large streams read since the last call.
    since: u64,
    /// Bytes of other large streams read since this one was last read.
    others: u64,
}

impl Calls {
    fn read(&mut self, stream: StreamId, bytes: usize) {
        if self.large == Some(stream) {
            self.others = 0;
            self.since += bytes as u64;
            if std::mem::take(&mut self.called) {
                self.beside = true;
                self.since = 0;
            }
        } else if bytes < LARGE {
            self.called = true;
        } else {
            self.since += bytes as u64;
            self.others += bytes as u64;
            if self.large.is_none() || self.others > OVER {
                self.large = Some(stream);
                self.others = 0;
                self.called = false;
            }
        }
        self.beside &= self.since < LAST_CALL;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(index: u64) -> StreamId {
        StreamId::new(quinn_proto::Side::Client, quinn_proto::Dir::Bi, index)
    }

    const CHUNK: usize = 64 * 1024;
    const CHUNKS: usize = LAST_CALL as usize / CHUNK;

    /// Performs reads in order: stream and number of bytes.
    fn reads(calls: &mut Calls, reads: impl IntoIterator<Item = (u64, usize)>) -> bool {
        for (index, bytes) in reads {
            calls.read(stream(index), bytes);
        }
        calls.beside
    }

    #[test]
    fn a_call_is_beside_a_large_stream_that_goes_on_after_it() {
        let mut calls = Calls::default();
        assert!(!reads(&mut calls, [(0, 100), (1, CHUNK), (0, 100)]));
        assert!(reads(&mut calls, [(1, CHUNK)]));
    }

    #[test]
    fn until_much_is_read_without_one() {
        let mut calls = Calls::default();
        assert!(reads(&mut calls, [(1, CHUNK), (0, 100), (1, CHUNK)]));
        assert!(reads(&mut calls, vec![(1, CHUNK); CHUNKS - 1]));
        assert!(!reads(&mut calls, [(1, CHUNK)]));
        assert!(reads(&mut calls, [(2, 100), (1, CHUNK)]));
    }

    #[test]
    fn calls_alone_and_large_streams_alone_are_beside_nothing() {
        assert!(!reads(&mut Calls::default(), (0..1000).map(|i| (i % 7, 100))));
        assert!(!reads(&mut Calls::default(), (0..1000).map(|i| (i % 3, CHUNK))));
        // One after the other, with a call in between.
        let one_by_one = (0..20).flat_map(|i| [vec![(0, 100)], vec![(i + 1, CHUNK); 32]].concat());
        assert!(!reads(&mut Calls::default(), one_by_one));
    }

    #[test]
    fn it_is_found_beside_several_large_streams() {
        let several = (0..20).flat_map(|_| [(1, CHUNK), (2, CHUNK), (0, 100), (3, CHUNK)]);
        assert!(reads(&mut Calls::default(), several));
    }

    fn window(setting: u64, remote: Remote) -> StreamWindow {
        StreamWindow::new(setting, remote, Instant::now())
    }

    /// Reads a call and then a chunk of stream 1. Returns the new size, if any.
    fn called(window: &mut StreamWindow, now: Instant, rtt: Duration) -> Option<u64> {
        window.read(stream(0), 100);
        window.read(stream(1), CHUNK).then(|| window.adapt(now, rtt)).flatten()
    }

    #[test]
    fn it_narrows_while_calls_go_beside_it() {
        let (now, rtt) = (Instant::now(), Duration::from_micros(100));
        let mut window = window(0, Remote::ThisMachine);
        assert_eq!(called(&mut window, now, rtt), None);
        assert_eq!(called(&mut window, now, rtt), Some(BESIDE_CALLS));
        assert_eq!(called(&mut window, now, rtt), None);
        let wider = (0..=CHUNKS).find_map(|_| {
            let looks = window.read(stream(1), CHUNK);
            looks.then(|| window.adapt(now, rtt)).flatten()
        });
        assert_eq!(wider, Some(HERE));
    }

    #[test]
    fn it_grows_on_a_long_path_and_is_back_when_that_was_a_mistake() {
        let (now, rtt) = (Instant::now(), Duration::from_millis(20));
        let mut window = window(0, Remote::ThisMachine);
        let sizes: Vec<_> = (0..200).filter_map(|_| called(&mut window, now, rtt)).collect();
        assert_eq!(sizes, [2 * HERE, ELSEWHERE]);
        assert!(window.adapt(now, Duration::from_micros(100)).is_some());
    }

    #[test]
    fn it_is_looked_at_again_when_as_much_was_read_and_not_at_each_read() {
        let (now, rtt) = (Instant::now(), Duration::from_micros(100));
        let mut window = window(0, Remote::ThisMachine);
        let looks = (0..1000).filter(|_| window.read(stream(1), CHUNK) && window.adapt(now, rtt).is_none());
        assert!(looks.count() <= 1000 * CHUNK * 2 / HERE as usize);
        // Calls made before the first adaptation still count.
        window.read(stream(0), 100);
        window.read(stream(1), CHUNK);
        assert!(window.read(stream(1), CHUNK));
        assert_eq!(window.adapt(now, rtt), Some(BESIDE_CALLS));
    }

    #[test]
    fn a_setting_holds_and_so_does_the_window_of_peers_elsewhere() {
        let (now, rtt) = (Instant::now(), Duration::from_micros(100));
        for mut window in [window(CHUNK as u64, Remote::ThisMachine), window(0, Remote::Elsewhere)] {
            assert!((0..2000).all(|_| called(&mut window, now, rtt).is_none()));
        }
    }
}
