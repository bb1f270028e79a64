/**
 * Application error codes of RESET_STREAM and STOP_SENDING (docs/protocol.md §6): a status code's number (1 to 16), or
 * one of these.
 */
// Constants of a module, not of an object: bundlers leave out those that are not used, and shorten the others.

/** The peer broke the protocol on this stream. */
export const ProtocolError = 0x20;
/** The stream's kind is unknown here. */
export const UnknownKind = 0x21;
/** More streams of calls than this side allows. */
export const TooManyStreams = 0x22;
