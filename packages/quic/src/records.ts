// The layout shared with native/src/sink.rs: records of four 32-bit words, kind first.

/** 32-bit words of one record. */
export const RECORD_WORDS = 4;
/** Records of one batch. */
export const RECORDS = 1024;

/** [session index, stream index, stream generation] */
export const STREAM = 1;
/** [stream, offset, length] */
export const DATA = 2;
/** [stream, freed] */
export const END = 3;
/** [stream, freed, code] */
export const RESET = 4;
/** [stream, freed, code] */
export const STOPPED = 5;
/** [stream] */
export const DRAIN = 6;
/** [stream] */
export const FREED = 7;
/** [stream, failure number] */
export const STREAM_CLOSED = 8;
/** [session index, generation, flags] */
export const CONNECTED = 9;
/** [session index, generation, failure number] */
export const LOST = 10;
export const CLOSED = 11;
export const BROKEN = 12;
/** [session index, stream index, stream generation] */
export const UNI_STREAM = 13;
/** [session index, offset, length] */
export const DATAGRAM = 14;
/** [session index, generation] */
export const DATAGRAM_DRAIN = 15;
/** [session index, generation, connection index] */
export const ASKED = 16;
/** [session index, generation] */
export const DRAINING = 17;
/** [session index, generation, PINGs without an answer] */
export const SILENT = 18;
/** [failure number] */
export const HANDSHAKE_FAILED = 20;
/** [session index, generation, early data taken] */
export const READY = 21;

/** Flag of CONNECTED: a connection that carries WebTransport sessions and is none itself. */
export const FLAG_HTTP3 = 2;
/** Flag of a CONNECTED record: the handshake is not yet complete; READY follows. */
export const FLAG_EARLY = 4;

/** Answers of `sendDatagram`. */
export const DATAGRAM_SENT = 0;
export const DATAGRAM_BLOCKED = 1;

/** Answer of a stream call: more is pending than the high-water mark. */
export const FLAG_ABOVE_HIGH_WATER = 1;
/** Answer of a stream call: both sides are done and the handle is void. */
export const FLAG_FREED = 2;

/** Above the bits of the generation in STREAM and UNI_STREAM: it came before the handshake was complete. */
const EARLY_STREAM = 2 ** 31;

/** The generation of an accepted stream, and whether it came before the handshake was complete. */
export function streamGeneration(word: number): [generation: number, early: boolean] {
  return word >= EARLY_STREAM ? [word - EARLY_STREAM, true] : [word, false];
}

const INDEX_SPAN = 2 ** 24;
/** Indices of WebTransport sessions lie above those of QUIC connections. */
export const WEB_TRANSPORT: number = 2 ** 23;

/** A handle of native/src/handle.rs: the generation above 24 bits of index. */
export function packHandle(index: number, generation: number): number {
  return generation * INDEX_SPAN + index;
}

/** The table index in a handle. */
export function handleIndex(handle: number): number {
  return handle % INDEX_SPAN;
}
