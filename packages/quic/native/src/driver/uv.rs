//! The loop driver: the socket and the timer are handles in Node's own libuv loop.

use std::rc::Rc;
use std::time::Instant;

use super::Readiness;
use super::alarm::Alarm;
use super::busy_poll::BusyPoll;
use crate::bridge::error::Failure;
use crate::bridge::reactor::Reactor;
use crate::ffi::env::Env;
use crate::ffi::uv::{Handle, Idle, Loop, Poll, UV_READABLE, UV_WRITABLE};
use crate::net::socket::Socket;

/// Runs an endpoint on the event loop of Node's thread.
pub struct UvDriver {
    uv_loop: Loop,
    poll: Poll,
    alarm: Alarm,
    /// Called before each poll of the loop, until it is dropped.
    _prepare: Handle,
    busy_poll: BusyPoll,
    /// Keeps the loop from sleeping while started.
    idle: Idle,
    armed: Option<Instant>,
    writable: bool,
    referenced: bool,
}

impl UvDriver {
    pub fn start(busy_poll: bool, env: Env, reactor: &Rc<Reactor>) -> Option<Self> {
        let uv_loop = Loop::of(env, reactor)?;
        let poll = reactor.with_socket(|socket| uv_loop.poll_socket(socket.io()))??;
        Some(UvDriver {
            poll,
            alarm: Alarm::open(&uv_loop)?,
            _prepare: uv_loop.prepare()?,
            busy_poll: BusyPoll::new(busy_poll),
            idle: uv_loop.idle()?,
            uv_loop,
            armed: None,
            writable: false,
            referenced: false,
        })
    }
}

impl Readiness for UvDriver {
    fn name(&self) -> &'static str {
        "loop"
    }

    fn closes_at_once(&self) -> bool {
        false
    }

    fn arm(&mut self, deadline: Instant) {
        if self.armed.is_some_and(|armed| armed <= deadline) {
            return;
        }
        self.armed = Some(deadline);
        self.alarm.set(deadline.saturating_duration_since(Instant::now()));
    }

    fn disarmed(&mut self) {
        self.armed = None;
        self.alarm.clear();
    }

    fn want_writable(&mut self, wanted: bool) {
        if self.writable != wanted {
            self.writable = wanted;
            self.repair();
        }
    }

    fn received(&mut self) {
        self.busy_poll.received();
    }

    fn before_wait(&mut self, sent: bool) -> bool {
        // Either is a no-op if it is in that state already.
        if self.busy_poll.before_wait(sent) {
            self.idle.start();
        } else {
            self.idle.stop();
        }
        false
    }

    fn repair(&mut self) {
        self.poll
            .watch(UV_READABLE | if self.writable { UV_WRITABLE } else { 0 });
    }

    fn rebind(&mut self, socket: &Socket) -> Result<(), Failure> {
        self.poll = self
            .uv_loop
            .poll_socket(socket.io())
            .ok_or_else(|| Failure::system(&std::io::Error::other("libuv does not take the socket"), "rebind"))?;
        self.writable = false;
        self.set_ref(self.referenced);
        Ok(())
    }

    fn set_ref(&mut self, wanted: bool) {
        self.referenced = wanted;
        self.poll.set_ref(wanted);
    }

    fn close(self: Box<Self>) {
        // The poll handle keeps the loop alive until its callback, so that a promise waiting for it settles.
        self.poll.set_ref(true);
        self.uv_loop.closing();
    }
}
