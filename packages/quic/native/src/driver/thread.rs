//! The thread driver: a thread waits for the socket and the timer and wakes JavaScript. It does not read or write the
//! socket; the engine stays on the JavaScript thread.

use std::num::NonZeroUsize;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use polling::Events;

use super::Readiness;
use super::busy_poll::BusyPoll;
use crate::bridge::error::Failure;
use crate::bridge::reactor::Reactor;
use crate::ffi::env::Env;
use crate::ffi::wake::{Wake, WakingThread};
use crate::ffi::watched::Watched;
use crate::net::socket::Socket;

const READABLE: usize = 1;
const WRITABLE: usize = 2;
const TIMER: usize = 4;

/// State shared by the driver's thread and the JavaScript thread.
struct Shared {
    /// A duplicate of the endpoint's socket, since the thread may outlive the original.
    watched: Watched,
    deadline: Mutex<Option<Instant>>,
    stop: AtomicBool,
}

pub struct ThreadDriver {
    shared: Arc<Shared>,
    thread: WakingThread,
    armed: Option<Instant>,
    writable: bool,
    /// Whether the thread watches the socket: it reports once, and then waits for a request to watch again.
    watching: bool,
    awake: bool,
    busy_poll: BusyPoll,
}

impl ThreadDriver {
    pub fn start(busy_poll: bool, env: Env, reactor: &Rc<Reactor>) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| Failure::system(&error, "start the readiness thread");
        let socket = reactor
            .with_socket(|socket| socket.io().try_clone())
            .ok_or_else(Failure::endpoint_closed)?
            .map_err(failed)?;
        let shared = Arc::new(Shared {
            watched: Watched::new(socket).map_err(failed)?,
            deadline: Mutex::new(None),
            stop: AtomicBool::new(false),
        });
        let theirs = shared.clone();
        let thread = WakingThread::start(env, reactor, move |wake| wait(&theirs, wake), woken).map_err(failed)?;
        Ok(ThreadDriver {
            shared,
            thread,
            armed: None,
            writable: false,
            watching: true,
            awake: false,
            busy_poll: BusyPoll::new(busy_poll),
        })
    }

    fn watch(&mut self) {
        self.watching = true;
        self.shared.watched.watch(self.writable);
    }
}

fn wait(shared: &Shared, wake: &Wake) {
    const CAPACITY: NonZeroUsize = NonZeroUsize::new(4).unwrap();
    let mut events = Events::with_capacity(CAPACITY);
    while !shared.stop.load(Ordering::Acquire) {
        let deadline = shared.deadline.lock().map_or(None, |deadline| *deadline);
        let timeout = deadline.map(|at| at.saturating_duration_since(Instant::now()));
        events.clear();
        if shared.watched.poller().wait(&mut events, timeout).is_err() {
            continue;
        }
        let mut flags = 0;
        for event in events.iter() {
            flags |= if event.readable { READABLE } else { 0 };
            flags |= if event.writable { WRITABLE } else { 0 };
        }
        if let Ok(mut deadline) = shared.deadline.lock()
            && deadline.is_some_and(|at| at <= Instant::now())
        {
            *deadline = None;
            flags |= TIMER;
        }
        if flags != 0 && !wake.call(flags) {
            return;
        }
    }
}

fn woken(reactor: &Rc<Reactor>, flags: usize) {
    if flags & TIMER != 0 {
        reactor.on_timer(false);
    }
    if flags & (READABLE | WRITABLE) != 0 {
        reactor.on_ready(flags & WRITABLE != 0, false);
    }
}

impl Readiness for ThreadDriver {
    fn name(&self) -> &'static str {
        "thread"
    }

    fn closes_at_once(&self) -> bool {
        true
    }

    fn arm(&mut self, deadline: Instant) {
        if self.armed.is_some_and(|armed| armed <= deadline) {
            return;
        }
        self.armed = Some(deadline);
        if let Ok(mut shared) = self.shared.deadline.lock() {
            *shared = Some(deadline);
        }
        let _ = self.shared.watched.poller().notify();
    }

    fn disarmed(&mut self) {
        self.armed = None;
    }

    fn want_writable(&mut self, wanted: bool) {
        if self.writable != wanted {
            self.writable = wanted;
            self.watch();
        }
    }

    /// While JavaScript polls it checks for datagrams itself; the thread, which then does not watch, keeps sleeping.
    fn looks(&self) -> bool {
        self.awake || !self.watching
    }

    fn reported(&mut self) {
        self.watching = false;
    }

    fn rearm(&mut self) {
        self.watch();
    }

    fn received(&mut self) {
        self.busy_poll.received();
    }

    fn before_wait(&mut self, sent: bool) -> bool {
        self.awake = self.busy_poll.before_wait(sent);
        if !self.awake && !self.watching {
            self.watch();
        }
        self.awake
    }

    fn rebind(&mut self, socket: &Socket) -> Result<(), Failure> {
        let next = socket.io().try_clone();
        next.and_then(|next| self.shared.watched.replace(next))
            .map_err(|error| Failure::system(&error, "rebind"))?;
        self.writable = false;
        self.watching = true;
        Ok(())
    }

    fn set_ref(&mut self, wanted: bool) {
        self.thread.set_ref(wanted);
    }

    fn close(self: Box<Self>) {
        self.shared.stop.store(true, Ordering::Release);
        let _ = self.shared.watched.poller().notify();
        self.thread.join();
    }
}
