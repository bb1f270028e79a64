//! Stream operations that JavaScript calls.

use quinn_proto::Dir;

use super::{Endpoint, wire_code};
use crate::bridge::error::{Failure, Source};
use crate::bridge::handle::{Handle, Session};
use crate::bridge::layout::{FLAG_ABOVE_HIGH_WATER, FLAG_FREED};
use crate::http3;
use crate::quic::connection::{Connection, Phase};
use crate::quic::stream::Stream;

impl Endpoint {
    /// Opens a stream on a live session. The stream has no id while the peer's limit is reached.
    pub fn open_stream(&mut self, session: Session, dir: Dir) -> Result<Handle, Failure> {
        match session {
            Session::Quic(handle) => self.open_quic_stream(handle, dir),
            Session::WebTransport(handle) => self.open_web_stream(handle, dir),
        }
    }

    pub(super) fn open_quic_stream(&mut self, handle: Handle, dir: Dir) -> Result<Handle, Failure> {
        let index = handle.index as usize;
        let id = match self.connection(handle) {
            Some(connection) if connection.phase != Phase::Over => {
                let overtakes = !connection.waiting(dir).is_empty();
                (!overtakes).then(|| connection.proto.streams().open(dir)).flatten()
            }
            _ => {
                return Err(Failure::session_closed());
            }
        };
        let stream = self.insert_stream(Stream::local(handle, id, dir))?;
        if let Some(Some(connection)) = self.connections.get_mut(index) {
            match id {
                Some(id) => drop(connection.streams.insert(id, stream)),
                None => connection.waiting(dir).push_back(stream),
            }
        }
        Ok(stream)
    }

    pub(super) fn insert_stream(&mut self, stream: Stream) -> Result<Handle, Failure> {
        self.streams.insert(stream).ok_or_else(|| {
            Failure::new(
                Source::Usage,
                "ERR_QUIC_TRANSPORT",
                "this endpoint has reached the maximum of 2^24 open streams",
            )
        })
    }

    /// Runs `act` on a live stream and its connection, then frees the stream if both sides are done.
    fn with_stream(&mut self, handle: Handle, act: impl FnOnce(&mut Stream, &mut Connection) -> u32) -> u32 {
        let Some(stream) = self.streams.get_mut(handle) else {
            return 0;
        };
        let index = stream.connection.index as usize;
        let Some(Some(connection)) = self.connections.get_mut(index) else {
            return 0;
        };
        if connection.handle != stream.connection || connection.phase == Phase::Over {
            return 0;
        }
        if let Some(liveness) = &mut connection.liveness {
            liveness.wrote();
        }
        let finished_before = stream.finished();
        let flags = act(stream, connection);
        // Queued records of its end must reach JavaScript first.
        let freed = !finished_before && stream.finished() && stream.queued_ends == 0;
        self.mark(index);
        if freed {
            self.free(handle);
            return flags | FLAG_FREED;
        }
        flags
    }

    pub(super) fn free(&mut self, handle: Handle) {
        let Some(stream) = self.streams.remove(handle) else {
            return;
        };
        self.note_end(stream.session);
        if stream.exchange.is_some() {
            self.request_over(stream.connection);
        }
        if let Some(id) = stream.id
            && let Some(connection) = self.connection(stream.connection)
        {
            connection.streams.remove(&id);
        }
    }

    pub fn write(&mut self, handle: Handle, data: &[u8], end: bool) -> u32 {
        let framed = !data.is_empty() && self.streams.get(handle).is_some_and(|stream| stream.exchange.is_some());
        if framed {
            return self.write_both(handle, &http3::data_header(data.len()), data, end);
        }
        self.write_both(handle, &[], data, end)
    }

    pub(super) fn write_both(&mut self, handle: Handle, header: &[u8], data: &[u8], end: bool) -> u32 {
        let (mut begun, mut blocked) = (false, None);
        let flags = self.with_stream(handle, |stream, connection| {
            let gathered = stream.gathers();
            let high_water_mark = connection.settings.high_water_mark;
            if !header.is_empty() {
                stream.write(&mut connection.proto, header, false, high_water_mark);
            }
            let below = stream.write(&mut connection.proto, data, end, high_water_mark);
            begun = !gathered && stream.gathers();
            blocked = stream.newly_blocked();
            if below { 0 } else { FLAG_ABOVE_HIGH_WATER }
        });
        if begun {
            self.gathering.push(handle);
        }
        self.tell_blocked(handle, blocked);
        flags
    }

    pub fn pending_bytes(&self, handle: Handle) -> f64 {
        self.streams
            .get(handle)
            .map_or(0.0, |stream| stream.pending_bytes() as f64)
    }

    pub fn reset(&mut self, handle: Handle, code: u32) -> u32 {
        self.with_stream(handle, |stream, connection| {
            let code = wire_code(stream, code);
            stream.reset(&mut connection.proto, code);
            0
        })
    }

    pub fn set_priority(&mut self, handle: Handle, priority: i32) {
        self.with_stream(handle, |stream, connection| {
            stream.set_priority(&mut connection.proto, priority);
            0
        });
    }

    pub fn stop_sending(&mut self, handle: Handle, code: u32) -> u32 {
        let session = self.streams.get(handle).and_then(|stream| stream.session);
        self.note_end(session);
        self.with_stream(handle, |stream, connection| {
            let code = wire_code(stream, code);
            stream.stop(connection, code);
            0
        })
    }

    pub fn set_paused(&mut self, handle: Handle, paused: bool) {
        if let Some(stream) = self.streams.get_mut(handle) {
            stream.paused = paused;
            if !paused && stream.id.is_some() {
                self.queue_readable(handle);
            }
        }
    }
}
