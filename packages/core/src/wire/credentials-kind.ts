// Kinds of credentials frames. The first byte of the frame's body is the kind.

/**
 * Sent by the server in answer to `Given`: milliseconds until the client's credentials expire (varint); absent if
 * unknown.
 */
export const Valid = 0x0;
/** Sent by the client: new credentials, in the fields of a greeting. */
export const Given = 0x1;
/** Sent by the server: asks for new credentials within this number of milliseconds (varint). */
export const Wanted = 0x2;
/**
 * Sent by the server: a nonce (32 bytes) that challenges the client to prove possession of its key. Sent by the client:
 * the proof (proof.ts).
 */
export const OfProof = 0x3;
