// Written by scripts/native-layout.mjs (npm run layout). Do not edit.

//! Records, flags and lists of numbers that JavaScript knows as well.

/// 32-bit words of one record: its kind, and three more.
pub const RECORD_WORDS: usize = 4;

/// Records of one batch.
pub const RECORDS: usize = 1024;

/// Flag of `Connected`: the connection carries WebTransport sessions and is none itself.
pub const FLAG_HTTP3: u32 = 1;

/// Flag of `Connected`: the handshake is not yet complete; `Ready` follows.
pub const FLAG_EARLY: u32 = 2;

/// Above the bits of a stream's generation: it came before the handshake was complete.
pub const EARLY_STREAM: u32 = 2147483648;

/// Flag that a stream call returns: more is pending than the high-water mark.
pub const FLAG_ABOVE_HIGH_WATER: u32 = 1;

/// Flag that a stream call returns: both sides are done and the handle is void.
pub const FLAG_FREED: u32 = 2;

/// Returned by `sendDatagram`: it leaves. All that are not listed: it never will.
pub const DATAGRAM_SENT: u32 = 0;

/// Returned by `sendDatagram`: there is no room now; a `DatagramDrain` record follows.
pub const DATAGRAM_BLOCKED: u32 = 1;

/// Bits of a handle that are the index in its table; the generation is above them.
pub const INDEX_BITS: u32 = 24;

/// Indices of WebTransport sessions begin here; those of QUIC connections lie below.
pub const WEB_TRANSPORT: u32 = 8388608;

/// Number of these records, flags, lists and functions: an engine is used by TypeScript of the same number only.
pub const LAYOUT: u32 = 2465559973;

/// Kinds of records, with their three words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// An accepted bidirectional stream: session index, stream index, stream generation.
    Stream = 1,
    /// Received bytes: stream index, offset into the slab, length.
    Data = 2,
    /// The peer's FIN: stream index, freed.
    End = 3,
    /// The peer's RESET_STREAM: stream index, freed, code.
    Reset = 4,
    /// The peer's STOP_SENDING: stream index, freed, code.
    Stopped = 5,
    /// A stream has room again: stream index.
    Drain = 6,
    /// The last pending bytes of a stream have gone and nothing remains of it: stream index.
    Freed = 7,
    /// The session was lost before the stream ended: stream index, failure number.
    StreamClosed = 8,
    /// Handshake complete, or WebTransport session granted: session index, generation, flags.
    Connected = 9,
    /// The session ended: session index, generation, failure number.
    Lost = 10,
    /// The endpoint's handles are closed.
    Closed = 11,
    /// The engine failed and has shut down.
    Broken = 12,
    /// An accepted unidirectional stream: session index, stream index, stream generation.
    UniStream = 13,
    /// A datagram: session index, offset into the slab, length.
    Datagram = 14,
    /// Datagrams may be sent again: session index, generation.
    DatagramDrain = 15,
    /// A client asks for a WebTransport session: session index, generation, connection index.
    Asked = 16,
    /// The peer asks to wind the session up (a server also a connection): session index, generation.
    Draining = 17,
    /// A dialled session's peer is silent: session index, generation, PINGs it did not answer.
    Silent = 18,
    /// An accepted connection failed before it became a session, by TLS: failure number.
    HandshakeFailed = 20,
    /// A client's request of plain HTTP: connection index, stream index, stream generation.
    Requested = 22,
    /// The peer has acknowledged all of a message: stream index, freed.
    Sent = 23,
    /// The head of a response: stream index, status.
    Answered = 24,
    /// A session that began early is established: session index, generation, early data taken.
    Ready = 21,
}

/// Settings of a transport, with their defaults resolved. Zero means off where a setting can be off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    pub idle_timeout_ms: f64,
    pub keep_alive_interval_ms: f64,
    pub max_streams: f64,
    pub max_uni_streams: f64,
    pub max_streams_ceiling: f64,
    pub stream_receive_window: f64,
    pub receive_window: f64,
    pub receive_window_ceiling: f64,
    pub send_window: f64,
    pub high_water_mark: f64,
    pub initial_rtt_ms: f64,
    pub max_ack_delay_ms: f64,
    pub congestion_control: f64,
    pub redundancy: f64,
    pub max_udp_payload: f64,
    pub datagram_buffer: f64,
    pub web_transport_sessions: f64,
    pub max_sessions: f64,
    pub max_sessions_per_address: f64,
    pub max_handshakes: f64,
    pub retry_threshold: f64,
    pub max_handshakes_per_address: f64,
    pub handshake_timeout_ms: f64,
    pub manual_admission: f64,
    pub plain_requests: f64,
}

impl Settings {
    /// None where there are more or fewer numbers.
    pub fn from_numbers(numbers: &[f64]) -> Option<Self> {
        let &[
            idle_timeout_ms,
            keep_alive_interval_ms,
            max_streams,
            max_uni_streams,
            max_streams_ceiling,
            stream_receive_window,
            receive_window,
            receive_window_ceiling,
            send_window,
            high_water_mark,
            initial_rtt_ms,
            max_ack_delay_ms,
            congestion_control,
            redundancy,
            max_udp_payload,
            datagram_buffer,
            web_transport_sessions,
            max_sessions,
            max_sessions_per_address,
            max_handshakes,
            retry_threshold,
            max_handshakes_per_address,
            handshake_timeout_ms,
            manual_admission,
            plain_requests,
        ] = numbers
        else {
            return None;
        };
        Some(Settings {
            idle_timeout_ms,
            keep_alive_interval_ms,
            max_streams,
            max_uni_streams,
            max_streams_ceiling,
            stream_receive_window,
            receive_window,
            receive_window_ceiling,
            send_window,
            high_water_mark,
            initial_rtt_ms,
            max_ack_delay_ms,
            congestion_control,
            redundancy,
            max_udp_payload,
            datagram_buffer,
            web_transport_sessions,
            max_sessions,
            max_sessions_per_address,
            max_handshakes,
            retry_threshold,
            max_handshakes_per_address,
            handshake_timeout_ms,
            manual_admission,
            plain_requests,
        })
    }
}

/// Counters of a session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SessionStats {
    pub rtt_ms: f64,
    pub min_rtt_ms: f64,
    pub congestion_window: f64,
    pub mtu: f64,
    pub sent_packets: f64,
    pub lost_packets: f64,
    pub copied_packets: f64,
    pub congestion_events: f64,
    pub sent_bytes: f64,
    pub received_bytes: f64,
    pub lost_bytes: f64,
    pub sent_udp_datagrams: f64,
    pub received_udp_datagrams: f64,
    pub sent_datagrams: f64,
    pub received_datagrams: f64,
    pub open_streams: f64,
    pub waiting_streams: f64,
    pub receive_window: f64,
    pub key_exchange_group: f64,
}

impl SessionStats {
    pub fn numbers(self) -> Vec<f64> {
        vec![
            self.rtt_ms,
            self.min_rtt_ms,
            self.congestion_window,
            self.mtu,
            self.sent_packets,
            self.lost_packets,
            self.copied_packets,
            self.congestion_events,
            self.sent_bytes,
            self.received_bytes,
            self.lost_bytes,
            self.sent_udp_datagrams,
            self.received_udp_datagrams,
            self.sent_datagrams,
            self.received_datagrams,
            self.open_streams,
            self.waiting_streams,
            self.receive_window,
            self.key_exchange_group,
        ]
    }
}

/// Counters of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EndpointStats {
    pub handshakes: f64,
    pub refused: f64,
    pub retried: f64,
    pub failed_handshakes: f64,
    pub receive_buffer: f64,
    pub send_buffer: f64,
    pub asked_buffer: f64,
}

impl EndpointStats {
    pub fn numbers(self) -> Vec<f64> {
        vec![
            self.handshakes,
            self.refused,
            self.retried,
            self.failed_handshakes,
            self.receive_buffer,
            self.send_buffer,
            self.asked_buffer,
        ]
    }
}
