//! A poller and the one socket it watches.

use std::net::UdpSocket;
use std::sync::{Mutex, MutexGuard, PoisonError};

use polling::{Event, Poller};

const SOCKET: usize = 1;

/// One thread waits while another changes what is watched.
pub struct Watched {
    poller: Poller,
    /// Leaves the poller before it is dropped.
    socket: Mutex<UdpSocket>,
}

impl Watched {
    /// Watches for readability, once.
    pub fn new(socket: UdpSocket) -> std::io::Result<Self> {
        let poller = Poller::new()?;
        // SAFETY: see the field `socket`.
        unsafe { poller.add(&socket, Event::readable(SOCKET))? };
        Ok(Watched {
            poller,
            socket: Mutex::new(socket),
        })
    }

    /// The poller to wait with.
    pub fn poller(&self) -> &Poller {
        &self.poller
    }

    /// After each report, and when `writable` changes: what to report next.
    pub fn watch(&self, writable: bool) {
        let event = Event::new(SOCKET, true, writable);
        let _ = self.poller.modify(&*self.lock(), event);
    }

    /// Watches this socket in the place of the one so far, for readability.
    pub fn replace(&self, socket: UdpSocket) -> std::io::Result<()> {
        let mut current = self.lock();
        // SAFETY: see the field `socket`.
        unsafe { self.poller.add(&socket, Event::readable(SOCKET))? };
        let _ = self.poller.delete(&*current);
        *current = socket;
        Ok(())
    }

    /// Nothing panics while it holds this lock, so a poisoned one is as good.
    fn lock(&self) -> MutexGuard<'_, UdpSocket> {
        self.socket.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let _ = self.poller.delete(&*self.lock());
    }
}
