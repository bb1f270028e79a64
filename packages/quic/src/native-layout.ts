// Written by scripts/native-layout.mjs (npm run layout). Do not edit.

/** 32-bit words of one record: its kind, and three more. */
export const RECORD_WORDS = 4;

/** Records of one batch. */
export const RECORDS = 1024;

/** Flag of `Connected`: the connection carries WebTransport sessions and is none itself. */
export const FLAG_HTTP3 = 1;

/** Flag of `Connected`: the handshake is not yet complete; `Ready` follows. */
export const FLAG_EARLY = 2;

/** Above the bits of a stream's generation: it came before the handshake was complete. */
export const EARLY_STREAM = 2147483648;

/** Flag that a stream call returns: more is pending than the high-water mark. */
export const FLAG_ABOVE_HIGH_WATER = 1;

/** Flag that a stream call returns: both sides are done and the handle is void. */
export const FLAG_FREED = 2;

/** Returned by `sendDatagram`: it leaves. All that are not listed: it never will. */
export const DATAGRAM_SENT = 0;

/** Returned by `sendDatagram`: there is no room now; a `DatagramDrain` record follows. */
export const DATAGRAM_BLOCKED = 1;

/** Bits of a handle that are the index in its table; the generation is above them. */
export const INDEX_BITS = 24;

/** Indices of WebTransport sessions begin here; those of QUIC connections lie below. */
export const WEB_TRANSPORT = 8388608;

/** Number of these records, flags, lists and functions: an engine is used by TypeScript of the same number only. */
export const LAYOUT = 2465559973;

/** An accepted bidirectional stream: session index, stream index, stream generation. */
export const STREAM = 1;

/** Received bytes: stream index, offset into the slab, length. */
export const DATA = 2;

/** The peer's FIN: stream index, freed. */
export const END = 3;

/** The peer's RESET_STREAM: stream index, freed, code. */
export const RESET = 4;

/** The peer's STOP_SENDING: stream index, freed, code. */
export const STOPPED = 5;

/** A stream has room again: stream index. */
export const DRAIN = 6;

/** The last pending bytes of a stream have gone and nothing remains of it: stream index. */
export const FREED = 7;

/** The session was lost before the stream ended: stream index, failure number. */
export const STREAM_CLOSED = 8;

/** Handshake complete, or WebTransport session granted: session index, generation, flags. */
export const CONNECTED = 9;

/** The session ended: session index, generation, failure number. */
export const LOST = 10;

/** The endpoint's handles are closed. */
export const CLOSED = 11;

/** The engine failed and has shut down. */
export const BROKEN = 12;

/** An accepted unidirectional stream: session index, stream index, stream generation. */
export const UNI_STREAM = 13;

/** A datagram: session index, offset into the slab, length. */
export const DATAGRAM = 14;

/** Datagrams may be sent again: session index, generation. */
export const DATAGRAM_DRAIN = 15;

/** A client asks for a WebTransport session: session index, generation, connection index. */
export const ASKED = 16;

/** The peer asks to wind the session up (a server also a connection): session index, generation. */
export const DRAINING = 17;

/** A dialled session's peer is silent: session index, generation, PINGs it did not answer. */
export const SILENT = 18;

/** An accepted connection failed before it became a session, by TLS: failure number. */
export const HANDSHAKE_FAILED = 20;

/** A client's request of plain HTTP: connection index, stream index, stream generation. */
export const REQUESTED = 22;

/** The peer has acknowledged all of a message: stream index, freed. */
export const SENT = 23;

/** The head of a response: stream index, status. */
export const ANSWERED = 24;

/** A session that began early is established: session index, generation, early data taken. */
export const READY = 21;

/** Settings of a transport, with their defaults resolved. Zero means off where a setting can be off. In the order in which they are passed. */
export const SETTINGS = [
  "idleTimeoutMs",
  "keepAliveIntervalMs",
  "maxStreams",
  "maxUniStreams",
  "maxStreamsCeiling",
  "streamReceiveWindow",
  "receiveWindow",
  "receiveWindowCeiling",
  "sendWindow",
  "highWaterMark",
  "initialRttMs",
  "maxAckDelayMs",
  "congestionControl",
  "redundancy",
  "maxUdpPayload",
  "datagramBuffer",
  "webTransportSessions",
  "maxSessions",
  "maxSessionsPerAddress",
  "maxHandshakes",
  "retryThreshold",
  "maxHandshakesPerAddress",
  "handshakeTimeoutMs",
  "manualAdmission",
  "plainRequests",
] as const;

/** Counters of a session. In the order in which they are passed. */
export const SESSION_STATS = [
  "rttMs",
  "minRttMs",
  "congestionWindow",
  "mtu",
  "sentPackets",
  "lostPackets",
  "copiedPackets",
  "congestionEvents",
  "sentBytes",
  "receivedBytes",
  "lostBytes",
  "sentUdpDatagrams",
  "receivedUdpDatagrams",
  "sentDatagrams",
  "receivedDatagrams",
  "openStreams",
  "waitingStreams",
  "receiveWindow",
  "keyExchangeGroup",
] as const;

/** Counters of an endpoint. In the order in which they are passed. */
export const ENDPOINT_STATS = [
  "handshakes",
  "refused",
  "retried",
  "failedHandshakes",
  "receiveBuffer",
  "sendBuffer",
  "askedBuffer",
] as const;
