/**
 * The types of frames. A frame, on lanes and on the streams of single calls alike (docs/protocol.md §3):
 *
 *     length (varint) | type and flags (1 byte) | call id (varint) | body
 *
 * `length` counts what follows it. The low four bits of the second field are the type, the high four its flags.
 */
// Constants of a module, not of an object: bundlers leave out those that are not used, and shorten the others.

/** version (varint), then settings as fields. The first frame of each side on a lane. */
export const Hello = 0x0;
/** service (2 bytes), method (varint), [head], payload */
export const Request = 0x1;
/** A request without an answer; its call id is 0. */
export const Notify = 0x2;
/** [head], payload */
export const Response = 0x3;
/** [head], code (1 byte), message length (varint), message (UTF-8), details (msgpack, may be absent) */
export const Error = 0x4;
/** [head], payload: one message of a stream */
export const Item = 0x5;
/** [head]. The stream of messages ends well. */
export const End = 0x6;
/** code (1 byte): the caller cancels the call. */
export const Cancel = 0x7;
/** bytes (varint): the receiver of items has room for this many more. Lanes only. */
export const Credit = 0x8;
/** [head]: what the callee says before its first message, at most once. */
export const Headers = 0x9;
/** stage (varint, a `GoawayStage`), then the fields of the stage: no more calls. Lanes only, call id 0. */
export const Goaway = 0xa;
/** Up to 8 bytes that come back in a pong. Lanes only, call id 0. */
export const Ping = 0xb;
export const Pong = 0xc;
/** code (varint), reason (UTF-8): the session ends. Only if the session is a single byte stream, call id 0. */
export const Close = 0xd;
/** The callee's items end successfully; its call stays open while the caller sends. */
export const HalfEnd = 0xe;
/** kind (varint, a `CredentialsKind`), then the fields of the kind: renewal of credentials. Lanes only, call id 0. */
export const Credentials = 0xf;
