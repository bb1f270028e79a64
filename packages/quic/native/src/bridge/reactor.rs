//! Runs one endpoint in a JavaScript thread. Each wake of its driver receives packets, delivers records to JavaScript
//! and sends once, so that acknowledgements travel with replies.

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::rc::Rc;

use crate::bridge::early_flush::EarlyFlush;
use crate::bridge::error::Failure;
use crate::bridge::layout::Kind;
use crate::driver::{Driver, Options, start};
use crate::endpoint::Endpoint;
use crate::ffi::env::Env;
use crate::ffi::event_buffer::EventBuffer;
use crate::ffi::hook::CleanupHook;
use crate::net::socket::Socket;

pub struct Reactor {
    env: Env,
    /// None after the close. Never borrowed while JavaScript runs.
    endpoint: RefCell<Option<Endpoint>>,
    buffer: RefCell<EventBuffer>,
    driver: RefCell<Option<Driver>>,
    driver_name: Cell<&'static str>,
    turn: RefCell<EarlyFlush>,
    hook: RefCell<Option<CleanupHook>>,
    broken: Cell<bool>,
    /// The driver has closed and will not call again.
    driver_gone: Cell<bool>,
    tearing_down: Cell<bool>,
}

impl Reactor {
    /// Must run in a call from JavaScript; `buffer` was made for the same environment.
    pub fn start(env: Env, endpoint: Endpoint, buffer: EventBuffer, driver: Options) -> Result<Rc<Self>, Failure> {
        let reactor = Rc::new(Reactor {
            env,
            endpoint: RefCell::new(Some(endpoint)),
            buffer: RefCell::new(buffer),
            driver: RefCell::new(None),
            driver_name: Cell::new("thread"),
            turn: RefCell::default(),
            hook: RefCell::new(None),
            broken: Cell::new(false),
            driver_gone: Cell::new(false),
            tearing_down: Cell::new(false),
        });
        match start(driver, env, &reactor) {
            Ok(driver) => {
                reactor.driver_name.set(driver.name());
                let closes_at_once = driver.closes_at_once();
                reactor.driver.replace(Some(driver));
                // Added after the driver: hooks run last in, first out, and this one needs an intact driver.
                reactor.hook.replace(CleanupHook::add(env, &reactor, closes_at_once));
                Ok(reactor)
            }
            Err(failure) => {
                reactor.buffer.borrow_mut().release();
                Err(failure)
            }
        }
    }

    pub fn driver_name(&self) -> &'static str {
        self.driver_name.get()
    }

    pub fn with_socket<T>(&self, act: impl FnOnce(&Socket) -> T) -> Option<T> {
        self.endpoint.borrow().as_ref().map(|endpoint| act(&endpoint.socket))
    }

    /// Runs `act` on the endpoint, unless it has closed.
    #[inline]
    pub fn with<T>(&self, act: impl FnOnce(&mut Endpoint) -> T) -> Option<T> {
        self.endpoint.borrow_mut().as_mut().map(act)
    }

    pub fn set_ref(&self, wanted: bool) {
        if let Some(driver) = self.driver.borrow_mut().as_mut() {
            driver.set_ref(wanted);
        }
    }

    /// Replaces the socket; the old one is read a last time and closed.
    pub fn rebind(&self, host: Option<IpAddr>, port: u16) -> Result<(), Failure> {
        let socket = self
            .with_socket(|socket| socket.another(host, port))
            .ok_or_else(Failure::endpoint_closed)??;
        if let Some(driver) = self.driver.borrow_mut().as_mut() {
            driver.rebind(&socket)?;
        }
        self.with(|endpoint| endpoint.rebind(socket));
        Ok(())
    }

    fn with_driver(&self, act: impl FnOnce(&mut Driver)) {
        if let Some(driver) = self.driver.borrow_mut().as_mut() {
            act(driver);
        }
    }

    pub fn on_ready(self: &Rc<Self>, writable: bool, outermost: bool) {
        self.with_driver(|driver| {
            driver.reported();
            driver.received();
        });
        self.with(|endpoint| {
            if writable {
                endpoint.socket.writable();
            }
            endpoint.receive();
        });
        if !self.pump(outermost) {
            self.with_driver(|driver| driver.rearm());
        }
    }

    pub fn repair(&self) {
        self.with_driver(|driver| driver.repair());
    }

    pub fn on_timer(self: &Rc<Self>, outermost: bool) {
        self.with_driver(|driver| driver.disarmed());
        if self.with(Endpoint::timeouts).is_some_and(|datagrams| datagrams > 0) {
            self.with_driver(|driver| driver.received());
        }
        self.pump(outermost);
    }

    /// Called before libuv waits: sends everything that JavaScript wrote in this turn.
    pub fn on_prepare(self: &Rc<Self>) {
        self.flush();
        if self.has_records() {
            self.pump(true);
        }
        self.before_wait();
    }

    fn before_wait(&self) -> bool {
        let sent = self.with(|endpoint| endpoint.socket.take_sent());
        sent.is_some_and(|sent| {
            let mut driver = self.driver.borrow_mut();
            driver.as_mut().is_some_and(|driver| driver.before_wait(sent))
        })
    }

    /// JavaScript's own flush (thread driver), called by setImmediate after it used the engine or received records.
    /// Returns whether to call again in the next turn.
    pub fn on_immediate(self: &Rc<Self>) -> bool {
        if self.driver_gone.get() {
            self.on_closed(false);
            return false;
        }
        self.flush();
        // If there were records, JavaScript calls again by itself.
        let delivered = (self.look() || self.has_records()) && self.pump(false);
        !delivered && self.before_wait()
    }

    /// Receives datagrams that the driver may not report. Returns whether there were any.
    fn look(&self) -> bool {
        let looks = self.driver.borrow().as_ref().is_some_and(|driver| driver.looks());
        let received = looks && self.with(Endpoint::receive).is_some_and(|datagrams| datagrams > 0);
        if received {
            self.with_driver(|driver| driver.received());
        }
        received
    }

    fn has_records(&self) -> bool {
        self.with(|endpoint| endpoint.has_records()) == Some(true)
    }

    /// Delivers everything that waits, then flushes. In the thread driver promise reactions run only after this
    /// returns, so a flush here would send acknowledgements ahead of the replies; JavaScript's setImmediate flushes
    /// instead. Returns whether it will.
    fn pump(self: &Rc<Self>, outermost: bool) -> bool {
        let mut delivered = self.deliver(outermost);
        while outermost || !delivered {
            self.flush();
            // Sending may end a connection: JavaScript is notified now, since nothing else may wake the engine.
            if !self.has_records() {
                break;
            }
            delivered = self.deliver(outermost);
            if !delivered {
                break;
            }
        }
        delivered
    }

    fn deliver(self: &Rc<Self>, outermost: bool) -> bool {
        let mut delivered = false;
        loop {
            let count = self.with(|endpoint| {
                if !endpoint.has_records() {
                    return 0;
                }
                endpoint.streams.hold();
                let room = endpoint.next_datagram();
                self.buffer.borrow_mut().fill(room, |batch| endpoint.collect(batch))
            });
            let count = count.unwrap_or(0);
            if count > 0 {
                delivered = true;
                let call = self.buffer.borrow().call();
                self.turn.borrow_mut().begin();
                if !call.run(count, outermost) {
                    self.buffer.borrow_mut().rewind();
                }
            }
            self.with(|endpoint| {
                endpoint.streams.release();
                if count == 0 {
                    endpoint.reap();
                }
            });
            if count == 0 {
                return delivered;
            }
        }
    }

    /// Called when JavaScript has written and its turn continues.
    pub fn wrote(&self) {
        let sends = self.turn.borrow_mut().wrote();
        if sends {
            self.send();
        }
    }

    pub fn flush(&self) {
        self.turn.borrow_mut().end();
        self.send();
    }

    fn send(&self) {
        let wants = self.with(|endpoint| {
            endpoint.flush();
            (endpoint.deadline(), endpoint.socket.blocked())
        });
        if let Some((deadline, blocked)) = wants {
            self.with_driver(|driver| {
                if let Some(deadline) = deadline {
                    driver.arm(deadline);
                }
                driver.want_writable(blocked);
            });
        }
    }

    /// Closes every session and the driver. The last records and `Closed` follow when the driver's handles are closed.
    pub fn close(self: &Rc<Self>, code: u32, reason: &[u8]) {
        self.with(|endpoint| endpoint.close_all(code, reason));
        self.close_driver();
    }

    fn close_driver(&self) {
        if let Some(driver) = self.driver.take() {
            self.driver_gone.set(driver.closes_at_once());
            driver.close();
        }
    }

    /// Called when the driver's handles are closed: drops the socket.
    pub fn on_closed(self: &Rc<Self>, outermost: bool) {
        let ending = self.tearing_down.get();
        if !ending {
            self.deliver(outermost);
        }
        if self.endpoint.take().is_some() && !ending && !self.broken.get() {
            self.tell(Kind::Closed, outermost);
        }
        // An environment that ends frees its references itself. Deno could not delete them then: it has no handle scope.
        if !ending {
            self.buffer.borrow_mut().release();
        }
        if let Some(hook) = self.hook.take() {
            hook.remove(self, ending);
        }
    }

    fn tell(&self, kind: Kind, outermost: bool) {
        let call = {
            let mut buffer = self.buffer.borrow_mut();
            buffer.fill(0, |batch| batch.push(kind, [0; 3]));
            buffer.call()
        };
        call.run(1, outermost);
    }

    /// Called when the environment ends: JavaScript must not be called any more.
    pub fn tear_down(self: &Rc<Self>) {
        self.tearing_down.set(true);
        self.with(|endpoint| endpoint.close_all(0, b""));
        self.close_driver();
        // Otherwise its last close callback calls on_closed.
        if self.driver_gone.get() {
            self.on_closed(false);
        }
    }

    /// Called after a panic was caught. The engine's state cannot be trusted any more: notifies JavaScript and shuts
    /// down.
    pub fn break_down(self: &Rc<Self>) {
        if self.broken.replace(true) {
            return;
        }
        if let Ok(mut endpoint) = self.endpoint.try_borrow_mut()
            && let Some(endpoint) = endpoint.as_mut()
        {
            endpoint.abandon();
        }
        self.env.scoped(|| self.tell(Kind::Broken, false));
        self.close_driver();
        if self.driver_gone.get() {
            self.on_closed(false);
        }
    }
}
