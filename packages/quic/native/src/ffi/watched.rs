//! A poller and the one socket it watches.

use std::net::UdpSocket;
use std::sync::{Mutex, MutexGuard, PoisonError};

use polling::{Event, Poller};

const SOCKET: usize = 1;

/// Lets one thread wait while another changes what is watched.
pub struct Watched {
    poller: Poller,
    /// Removed from the poller before it is dropped.
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

    /// Sets what to report next; called after each report and when `writable` changes.
    pub fn watch(&self, writable: bool) {
        let event = Event::new(SOCKET, true, writable);
        let _ = self.poller.modify(&*self.lock(), event);
    }

    /// Watches `socket` for readability instead of the previous one.
    pub fn replace(&self, socket: UdpSocket) -> std::io::Result<()> {
        let mut current = self.lock();
        // SAFETY: see the field `socket`.
        unsafe { self.poller.add(&socket, Event::readable(SOCKET))? };
        let _ = self.poller.delete(&*current);
        *current = socket;
        Ok(())
    }

    /// Code that holds this lock does not panic, so a poisoned lock is still valid.
    fn lock(&self) -> MutexGuard<'_, UdpSocket> {
        self.socket.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let _ = self.poller.delete(&*self.lock());
    }
}
