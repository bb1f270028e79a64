/**
 * Types of frames. A frame on a lane, or on the stream of a single call, consists of (docs/protocol.md §3):
 *
 *     length (varint) | type and flags (1 byte) | call id (varint) | body
 *
 * `length` is the number of bytes after it. The low four bits of the second field are the type, the high four bits the
 * flags.
 */
// Constants of a module, not of an object: bundlers leave out those that are not used, and shorten the others.

/** First frame of each side on a lane. Body: version (varint), then settings as fields. */
export const Hello = 0x0;
/** Begins a call. Body: service (2 bytes), method (varint), [head], payload. */
export const Request = 0x1;
/** A request that is not answered; its call id is 0. The body is that of a request. */
export const Notify = 0x2;
/** The answer to a call with a single response. Body: [head], payload. */
export const Response = 0x3;
/**
 * Ends a call with an error. Body: [head], code (1 byte), message length (varint), message (UTF-8), details (msgpack,
 * may be absent).
 */
export const Error = 0x4;
/** One message of a stream. Body: [head], payload. */
export const Item = 0x5;
/** Ends a stream of messages successfully. Body: [head]. */
export const End = 0x6;
/** Sent by the caller to cancel the call. Body: code (1 byte). */
export const Cancel = 0x7;
/** Sent by the receiver of items: it has room for this many more bytes of them. Body: bytes (varint). Only on lanes. */
export const Credit = 0x8;
/** Metadata that the callee sends before its first message, at most once. Body: [head]. */
export const Headers = 0x9;
/**
 * Announces that the sender drains the session. Body: stage (varint, a `GoawayStage`), then the fields of that stage.
 * Only on lanes, with call id 0.
 */
export const Goaway = 0xa;
/** Asks the peer for a pong with the same up to 8 bytes. Only on lanes, with call id 0. */
export const Ping = 0xb;
export const Pong = 0xc;
/**
 * Ends the session. Body: code (varint), reason (UTF-8). Only if the session is a single byte stream, with call id 0.
 */
export const Close = 0xd;
/** Ends the callee's items successfully while the caller may still send: the call stays open. */
export const HalfEnd = 0xe;
/**
 * Renews or proves credentials. Body: kind (varint, a `CredentialsKind`), then the fields of that kind. Only on lanes,
 * with call id 0.
 */
export const Credentials = 0xf;
