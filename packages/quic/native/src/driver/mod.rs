//! Drivers wake the engine: by readiness of the socket, and by one timer.

use std::rc::Rc;
use std::time::Instant;

use crate::error::Failure;
use crate::ffi::env::Env;
use crate::reactor::Reactor;
use crate::socket::Socket;

#[cfg(unix)]
mod alarm;
mod busy_poll;
mod thread;
#[cfg(unix)]
mod uv;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    Auto,
    Loop,
    Thread,
}

impl Choice {
    pub fn parse(name: &[u8]) -> Self {
        match name {
            b"loop" => Choice::Loop,
            b"thread" => Choice::Thread,
            _ => Choice::Auto,
        }
    }
}

/// Options of `start`.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub choice: Choice,
    /// Whether a driver that can do so stays awake for answers that come at once.
    pub busy_poll: bool,
}

/// A driver calls `Reactor::on_ready`, `Reactor::on_timer` and, once its handles are closed, `Reactor::on_closed`.
pub trait Readiness {
    fn name(&self) -> &'static str;
    /// Whether `close` is complete when it returns.
    fn closes_at_once(&self) -> bool;
    /// The timer shall fire at `deadline`, or earlier: a spurious firing costs little, a late one costs latency.
    fn arm(&mut self, deadline: Instant);
    /// The timer has fired.
    fn disarmed(&mut self);
    /// Whether to report writability as well.
    fn want_writable(&mut self, wanted: bool);
    /// Datagrams have come.
    fn received(&mut self) {}
    /// The thread is about to wait; whether something was sent since it last was. Returns whether JavaScript has to call
    /// again in its next turn, since this driver stays awake by that.
    fn before_wait(&mut self, _sent: bool) -> bool {
        false
    }
    /// Whether to look for datagrams unasked: they may have come and not be reported.
    fn looks(&self) -> bool {
        false
    }
    /// Readiness was reported.
    fn reported(&mut self) {}
    /// Readiness was reported and dealt with, and no `before_wait` follows.
    fn rearm(&mut self) {}
    /// Polling was stopped by an error condition of the socket, which is over.
    fn repair(&mut self) {}
    /// Watches this socket in the place of the one so far, which is still open.
    fn rebind(&mut self, socket: &Socket) -> Result<(), Failure>;
    /// Whether this driver keeps the process alive.
    fn set_ref(&mut self, wanted: bool);
    /// Begins to close. Unless that `closes_at_once`, `Reactor::on_closed` follows.
    fn close(self: Box<Self>);
}

pub type Driver = Box<dyn Readiness>;

pub fn start(Options { choice, busy_poll }: Options, env: Env, reactor: &Rc<Reactor>) -> Result<Driver, Failure> {
    #[cfg(unix)]
    if choice != Choice::Thread {
        match uv::UvDriver::start(busy_poll, env, reactor) {
            Some(driver) => return Ok(Box::new(driver)),
            None if choice == Choice::Loop => {
                return Err(Failure::option(
                    "the loop driver needs libuv, which this runtime does not offer; use driver \"thread\" or \"auto\"",
                ));
            }
            None => {}
        }
    }
    #[cfg(not(unix))]
    if choice == Choice::Loop {
        return Err(Failure::option(
            "the loop driver is not available on this platform; use \"thread\" or \"auto\"",
        ));
    }
    thread::ThreadDriver::start(busy_poll, env, reactor).map(|driver| Box::new(driver) as Driver)
}
