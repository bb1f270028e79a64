//! Drivers wake the engine when its socket is ready or its one timer fires.

use std::rc::Rc;
use std::time::Instant;

use crate::bridge::error::Failure;
use crate::bridge::reactor::Reactor;
use crate::ffi::env::Env;
use crate::net::socket::Socket;

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
    /// Whether a driver that can do so polls while answers arrive at once.
    pub busy_poll: bool,
}

/// A driver calls `Reactor::on_ready`, `Reactor::on_timer` and, once its handles are closed, `Reactor::on_closed`.
pub trait Readiness {
    fn name(&self) -> &'static str;
    /// Whether `close` is complete when it returns.
    fn closes_at_once(&self) -> bool;
    /// Sets the timer to fire at `deadline` or earlier: a spurious firing costs little, a late one adds latency.
    fn arm(&mut self, deadline: Instant);
    /// Called after the timer has fired.
    fn disarmed(&mut self);
    /// Sets whether to report writability as well.
    fn want_writable(&mut self, wanted: bool);
    /// Called when datagrams have arrived.
    fn received(&mut self) {}
    /// Called before the thread waits; `_sent` says whether something was sent since the last wait. Returns whether
    /// JavaScript must call again in its next turn, which keeps this driver polling.
    fn before_wait(&mut self, _sent: bool) -> bool {
        false
    }
    /// Whether to check for datagrams unasked: they may have arrived without being reported.
    fn looks(&self) -> bool {
        false
    }
    /// Called when readiness was reported.
    fn reported(&mut self) {}
    /// Called when readiness was reported and handled, and no `before_wait` follows.
    fn rearm(&mut self) {}
    /// Called after an error condition of the socket that stopped polling is over.
    fn repair(&mut self) {}
    /// Watches `socket` instead of the previous one, which is still open.
    fn rebind(&mut self, socket: &Socket) -> Result<(), Failure>;
    /// Sets whether this driver keeps the process alive.
    fn set_ref(&mut self, wanted: bool);
    /// Begins to close. `Reactor::on_closed` follows, except if the driver `closes_at_once`.
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
