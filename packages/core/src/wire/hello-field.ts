/** Keys of the fields of a hello and of renewed credentials. */
// Constants of a module, not of an object: bundlers leave out those that are not used, and shorten the others.

/** Compression algorithms that the sender can decompress. Value: numbers (1 byte each). */
export const COMPRESSIONS = 0x1;
/** Name of the codec. Value: UTF-8. */
export const CODEC = 0x2;
/** Credentials of the client. Value: UTF-8. */
export const CREDENTIALS = 0x3;
/** Metadata of the session. Value: entries. */
export const METADATA = 0x5;
/** The client can renew its credentials. Value: empty. */
export const RENEWS = 0x7;
/** The client can prove possession of its key. Value: empty. */
export const PROVES = 0x9;
/** The proof of possession. Value: a proof (proof.ts). */
export const PROOF = 0xb;
/** Number of calls that the sender serves at the same time. Value: varint. */
export const CALLS = 0xd;
