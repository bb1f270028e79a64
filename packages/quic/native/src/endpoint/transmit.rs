//! Sends datagrams and runs the timers.

use std::time::Instant;

use super::Endpoint;
use crate::quic::connection::Phase;

/// Maximum number of bytes sent in one turn of the event loop, about a millisecond's work; the rest follows in the next
/// turn, so that other events are handled in between.
const FLUSH_BYTES: usize = 1 << 20;

impl Endpoint {
    /// Sends as much as allowed, up to `FLUSH_BYTES`, and updates the timers.
    pub fn flush(&mut self) {
        if self.dirty.is_empty() || self.socket.blocked() {
            return;
        }
        let now = Instant::now();
        let mut buffer = std::mem::take(&mut self.scratch);
        let mut sent = 0;
        while let Some(index) = self.dirty.pop() {
            // After `drive`, which may write.
            self.settle_streams();
            while let Some(Some(connection)) = self.connections.get_mut(index) {
                connection.dirty = false;
                connection.time_out_if_overdue(now);
                buffer.clear();
                let segments = self.socket.max_segments(connection.proto.current_mtu());
                let Some(transmit) = connection.poll_transmit(now, segments, &mut buffer) else {
                    if connection.stop_late() {
                        continue;
                    }
                    break;
                };
                let copies =
                    connection.phase == Phase::Live && connection.flights.wants_copy(now, &transmit, &connection.proto);
                if copies {
                    self.copies.add(now, &transmit, &buffer);
                }
                if let Some(liveness) = &mut connection.liveness {
                    liveness.sent(now);
                    if copies {
                        liveness.sent(now);
                    }
                }
                sent += transmit.size;
                self.socket.send(transmit, &buffer);
                if self.socket.blocked() || sent >= FLUSH_BYTES {
                    break;
                }
            }
            self.drive(index);
            self.schedule(index);
            if self.socket.blocked() || sent >= FLUSH_BYTES {
                self.mark(index);
                // Other connections are sent first.
                self.dirty.rotate_right(1);
                break;
            }
        }
        self.scratch = buffer;
    }

    fn settle_streams(&mut self) {
        // Records made in the meantime are collected as well.
        let mut next = 0;
        while let Some(&handle) = self.gathering.get(next) {
            next += 1;
            if let Some(stream) = self.streams.get_mut(handle)
                && let Some(Some(connection)) = self.connections.get_mut(stream.connection.index as usize)
                && connection.handle == stream.connection
            {
                stream.settle(&mut connection.proto);
                let blocked = stream.newly_blocked();
                self.tell_blocked(handle, blocked);
            }
        }
        self.gathering.clear();
    }

    fn schedule(&mut self, index: usize) {
        let give_up = self.pending_deadline(index);
        let Some(Some(connection)) = self.connections.get_mut(index) else {
            return;
        };
        connection.deadline = connection.proto.poll_timeout();
        let delayed_close = connection.web.as_ref().and_then(|web| web.delayed_closes.due());
        let own = [give_up, connection.leaves, connection.asks(), delayed_close];
        connection.deadline = own.into_iter().flatten().chain(connection.deadline).min();
        if let Some(deadline) = connection.deadline
            && connection.scheduled.is_none_or(|at| deadline < at)
        {
            if let Some(later) = connection.scheduled.replace(deadline) {
                self.timers.remove(&(later, index));
            }
            self.timers.insert((deadline, index));
        }
    }

    /// When to call `timeouts` next: at once if something waits to be sent. Timers that have moved later are noticed
    /// there, not here.
    pub fn deadline(&self) -> Option<Instant> {
        if !self.dirty.is_empty() && !self.socket.blocked() {
            return Some(Instant::now());
        }
        let timer = self.timers.first().map(|(at, _)| *at);
        [timer, self.copies.due(), self.memory_trim.due()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Runs the timers that are due, after receiving what has arrived: if the thread was blocked, an answer may wait in
    /// the socket, and a timer that it stops must not send its packet again.
    /// Returns the number of datagrams that it received.
    pub fn timeouts(&mut self) -> usize {
        let is_due = self.timers.first().is_some_and(|&(at, _)| at <= Instant::now());
        let datagrams = if is_due { self.receive() } else { 0 };
        let now = Instant::now();
        self.copies.send(now, &mut self.socket);
        self.memory_trim.run(now);
        while let Some(&(at, index)) = self.timers.first()
            && at <= now
        {
            self.timers.pop_first();
            let give_up = self.pending_deadline(index);
            let Some(Some(connection)) = self.connections.get_mut(index) else {
                continue;
            };
            connection.scheduled = None;
            self.send_due_closes(index, now);
            let Some(Some(connection)) = self.connections.get_mut(index) else {
                continue;
            };
            if give_up.is_some_and(|at| at <= now) {
                self.give_up_pending(index);
            } else if connection.leaves.is_some_and(|at| at <= now) {
                self.leave(index);
            } else if connection.deadline.is_some_and(|deadline| deadline <= now) {
                connection.proto.handle_timeout(now);
                self.ask_silent(index, now);
                self.mark(index);
                self.drive(index);
            }
            self.schedule(index);
        }
        datagrams
    }
}
