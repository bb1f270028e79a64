//! QUIC datagrams (RFC 9221), and HTTP datagrams in them (RFC 9297).

use bytes::Bytes;
use quinn_proto as qp;

use super::Endpoint;
use crate::bridge::event_batch::EventBatch;
use crate::bridge::handle::{Handle, Session};
use crate::bridge::layout::{DATAGRAM_BLOCKED, DATAGRAM_SENT, Kind};
use crate::http3::Http3;
use crate::quic::connection::Phase;

/// Results of `send_datagram` for datagrams that are not sent.
const TOO_LARGE: u32 = 2;
/// The peer does not accept datagrams, or the session has ended.
const UNAVAILABLE: u32 = 3;

impl Endpoint {
    /// The session's connection and the prefix of its datagrams, if the peer accepts datagrams.
    fn datagram_path(&self, session: Session) -> Option<(Handle, Vec<u8>)> {
        match session {
            Session::Quic(handle) => Some((handle, Vec::new())),
            Session::WebTransport(handle) => {
                let state = self.sessions.get(handle)?;
                let connection = self.connections.get(state.connection.index as usize)?.as_ref()?;
                let available = connection.web.as_ref()?.http3.sends_datagrams();
                available.then_some((state.connection, Http3::datagram_header(state.id?)))
            }
        }
    }

    pub fn send_datagram(&mut self, session: Session, payload: &[u8]) -> u32 {
        let Some((handle, mut datagram)) = self.datagram_path(session) else {
            return UNAVAILABLE;
        };
        let Some(connection) = self.connection(handle).filter(|it| it.phase == Phase::Live) else {
            return UNAVAILABLE;
        };
        datagram.extend_from_slice(payload);
        match connection.proto.datagrams().send(Bytes::from(datagram), false) {
            Ok(()) => {
                self.mark(handle.index as usize);
                DATAGRAM_SENT
            }
            Err(qp::SendDatagramError::Blocked(_)) => {
                if !connection.datagrams_wait.contains(&session) {
                    connection.datagrams_wait.push(session);
                }
                DATAGRAM_BLOCKED
            }
            Err(qp::SendDatagramError::TooLarge) => TOO_LARGE,
            Err(qp::SendDatagramError::UnsupportedByPeer | qp::SendDatagramError::Disabled) => UNAVAILABLE,
        }
    }

    /// The largest payload that `send_datagram` accepts now; 0 if none.
    pub fn max_datagram_size(&mut self, session: Session) -> usize {
        let Some((handle, header)) = self.datagram_path(session) else {
            return 0;
        };
        self.connection(handle)
            .and_then(|connection| connection.proto.datagrams().max_size())
            .map_or(0, |size| size.saturating_sub(header.len()))
    }

    pub(super) fn receive_datagrams(&mut self, index: usize) {
        while let Some(Some(connection)) = self.connections.get_mut(index)
            && connection.phase == Phase::Live
            && let Some(datagram) = connection.proto.datagrams().recv()
        {
            match &mut connection.web {
                None if connection.pending.is_open() => self.datagrams.push_back((index as u32, datagram)),
                None => connection.pending.hold_datagram(index as u32, &datagram),
                Some(web) => {
                    if let Some((id, start)) = web.http3.datagram(&datagram)
                        && let Some(&session) = web.sessions.get(&id)
                    {
                        let admitted = self.sessions.get(session).is_some_and(|it| !it.awaits_admission());
                        let session = Session::WebTransport(session).handle();
                        if admitted {
                            self.datagrams.push_back((session.index, datagram.slice(start..)));
                        } else {
                            connection.pending.hold_datagram(session.index, &datagram[start..]);
                        }
                    }
                }
            }
        }
        self.act_http3(index);
    }

    pub(super) fn datagrams_unblocked(&mut self, index: usize) {
        let Some(Some(connection)) = self.connections.get_mut(index) else {
            return;
        };
        for session in std::mem::take(&mut connection.datagrams_wait) {
            let Handle { index, generation } = session.handle();
            self.notify(Kind::DatagramDrain, [index, generation, 0]);
        }
    }

    /// The size of the next datagram to deliver, or 0.
    pub fn next_datagram(&self) -> usize {
        self.datagrams.front().map_or(0, |(_, datagram)| datagram.len())
    }

    pub(super) fn collect_datagrams(&mut self, batch: &mut EventBatch<'_>) {
        while !batch.full()
            && let Some((session, datagram)) = self.datagrams.pop_front()
        {
            if datagram.len() > batch.room() {
                self.datagrams.push_front((session, datagram));
                return;
            }
            let start = batch.used;
            batch.put(&datagram);
            batch.push(Kind::Datagram, [session, start as u32, datagram.len() as u32]);
        }
    }
}
