/** Kinds of streams, by their first varint. */
// Constants of a module, not of an object: bundlers leave out those that are not used, and shorten the others.

/** One call: its frames have call id 0. */
export const Call = 0x1;
/** Many calls, told apart by id. */
export const Lane = 0x2;
