//! Writes records and received bytes into a batch for JavaScript.

use quinn_proto::ReadError;

use super::web::varint;
use super::{Endpoint, application_code, session_is_gone};
use crate::bridge::event_batch::{EventBatch, QueuedRecord};
use crate::bridge::handle::Handle;
use crate::bridge::layout::Kind;
use crate::endpoint::web::requests::Exchange;
use crate::http3::{Fault, Fields};

/// Maximum number of bytes delivered of an accepted stream before JavaScript could pause it. Streams without a reader
/// thus hold at most this times the stream limit; the rest stays under flow control.
const FIRST_BYTES: usize = 4096;

impl Endpoint {
    pub fn has_records(&self) -> bool {
        !self.queued.is_empty() || !self.datagrams.is_empty() || !self.readable.is_empty()
    }

    /// Fills the batch with waiting records, then with received bytes of streams.
    pub fn collect(&mut self, batch: &mut EventBatch<'_>) {
        while !batch.full()
            && let Some(record) = self.queued.pop_front()
        {
            if record.kind == Kind::StreamClosed
                && let Some(handle) = record.stream
            {
                // Bytes that arrived before the end of the connection are still delivered.
                self.collect_stream(handle, batch, usize::MAX);
                if batch.full() || batch.room() == 0 {
                    self.queued.push_front(record);
                    break;
                }
            }
            self.collect_queued(record, batch);
        }
        self.collect_datagrams(batch);
        while !batch.full()
            && batch.room() > 0
            && let Some(handle) = self.readable.pop_front()
        {
            let fresh = self.streams.get(handle).is_some_and(|stream| stream.fresh);
            self.collect_stream(handle, batch, if fresh { FIRST_BYTES } else { usize::MAX });
        }
        self.readable.append(&mut self.held_over);
    }

    fn collect_queued(&mut self, record: QueuedRecord, batch: &mut EventBatch<'_>) {
        let mut words = record.words;
        if let Some(handle) = record.stream {
            let Some(stream) = self.streams.get_mut(handle) else {
                return;
            };
            match record.kind {
                Kind::Stopped | Kind::Sent | Kind::Reset => {
                    stream.queued_ends -= 1;
                    let freed = stream.finished() && stream.queued_ends == 0;
                    words[1] = u32::from(freed);
                    if freed {
                        self.free(handle);
                    }
                }
                Kind::Freed => self.free(handle),
                Kind::StreamClosed => self.release_orphan(handle),
                _ => {}
            }
        }
        batch.push(record.kind, words);
    }

    /// Delivers at most `most` bytes of a stream; the rest follows in the next batch.
    fn collect_stream(&mut self, handle: Handle, batch: &mut EventBatch<'_>, most: usize) {
        let Some(stream) = self.streams.get_mut(handle) else {
            return;
        };
        stream.queued = false;
        let index = stream.connection.index as usize;
        let (Some(id), Some(Some(connection))) = (stream.id, self.connections.get_mut(index)) else {
            return;
        };
        if stream.paused || !stream.receiving || connection.handle != stream.connection {
            return;
        }
        let start = batch.used;
        let mut end = None;
        let mut transmit = false;
        let mut more = false;
        let blocked = !connection.waiting(id.dir()).is_empty();
        let (mut fault, mut head) = (None, None);
        if !stream.unread.is_empty() {
            let part = stream.unread.len().min(batch.room()).min(most);
            fault = take(&mut stream.exchange, &stream.unread.split_to(part), batch, &mut head).err();
            more = !stream.unread.is_empty();
        }
        let mut receiver = connection.proto.recv_stream(id);
        if let Ok(mut chunks) = receiver.read(true) {
            while fault.is_none() && !more {
                let room = batch.room().min(most.saturating_sub(batch.used - start));
                if room == 0 {
                    more = true;
                    break;
                }
                match chunks.next(room) {
                    Ok(Some(chunk)) => fault = take(&mut stream.exchange, &chunk.bytes, batch, &mut head).err(),
                    Ok(None) => {
                        match stream
                            .exchange
                            .as_mut()
                            .map_or(Ok(Vec::new()), |it| it.message.finish())
                        {
                            Err(error) => fault = Some(error),
                            Ok(fields) if fields.is_empty() => end = Some((Kind::End, 0)),
                            Ok(fields) => {
                                self.sections.insert((handle.index, true), fields);
                                end = Some((Kind::End, 1));
                            }
                        }
                        break;
                    }
                    Err(ReadError::Blocked) => break,
                    Err(ReadError::Reset(code)) if session_is_gone(stream, code) => {
                        stream.receiving = false;
                        break;
                    }
                    Err(ReadError::Reset(code)) => {
                        end = Some((Kind::Reset, application_code(stream, code)));
                        break;
                    }
                }
            }
            transmit = chunks.finalize().should_transmit();
        }
        transmit |= connection.note_read(id, batch.used - start);
        stream.queued = more;
        if let Some((status, fields)) = head {
            self.sections.insert((handle.index, false), fields);
            batch.push(Kind::Answered, [handle.index, status.into(), 0]);
        }
        if batch.used > start {
            stream.fresh = false;
            batch.push(Kind::Data, [handle.index, start as u32, (batch.used - start) as u32]);
        }
        if let Some(Fault::Message(code)) = fault {
            let wire = varint(code);
            stream.reset(&mut connection.proto, wire);
            stream.stop(connection, wire);
            end = Some((Kind::Reset, code as u32));
            transmit = true;
        } else if let Some(Fault::Connection(code, why)) = fault {
            self.violated(index, code, why);
            return;
        }
        if let Some((kind, code)) = end {
            if blocked {
                // The peer may only raise its stream limit when it knows that its reply has arrived. A PING takes the
                // acknowledgement along at once instead of after max_ack_delay.
                connection.proto.ping();
                transmit = true;
            }
            stream.receiving = false;
            let freed = stream.finished() && stream.queued_ends == 0;
            batch.push(kind, [handle.index, u32::from(freed), code]);
            if kind == Kind::Reset && fault.is_none() {
                self.note_cancelled(index, handle);
            }
            if freed {
                self.free(handle);
            }
        }
        if transmit {
            self.mark(index);
        }
        if more {
            self.held_over.push_back(handle);
        }
    }
}

/// Writes received bytes of a stream into the batch; of an HTTP message only the body, and the head of a response into
/// `head`.
fn take(
    exchange: &mut Option<Box<Exchange>>,
    bytes: &[u8],
    batch: &mut EventBatch<'_>,
    head: &mut Option<(u16, Fields)>,
) -> Result<(), Fault> {
    match exchange {
        Some(exchange) => exchange.collect(bytes, batch, head),
        None => {
            batch.put(bytes);
            Ok(())
        }
    }
}
