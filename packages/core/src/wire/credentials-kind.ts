// Kinds of a credentials frame, by its first byte.

/**
 * From the server, in answer to `Given`: milliseconds until the client's credentials expire (varint); absent if
 * unknown.
 */
export const Valid = 0x0;
/** From the client: the fields of a greeting. */
export const Given = 0x1;
/** From the server: asks for new credentials, within this many milliseconds (varint). */
export const Wanted = 0x2;
/**
 * From the server: a nonce (32 bytes) that challenges the client to prove possession of its key. From the client: the
 * proof (proof.ts).
 */
export const OfProof = 0x3;
