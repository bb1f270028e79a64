/** Kinds of streams. The first varint of a stream is its kind. */
// Constants of a module, not of an object: bundlers leave out those that are not used, and shorten the others.

/** A stream that carries one call. Its frames have call id 0. */
export const Call = 0x1;
/** A stream that carries many calls, distinguished by their call ids. */
export const Lane = 0x2;
