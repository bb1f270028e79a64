// Kinds of a credentials frame, by its first byte.

/** From the server: milliseconds until what the client has proven expires (varint); absent where nobody knows. It answers `Given`. */
export const Valid = 0x0;
/** From the client: the fields of a greeting. */
export const Given = 0x1;
/** From the server: give credentials anew, at some moment of so many milliseconds (varint). */
export const Wanted = 0x2;
/** From the server: a nonce (32 bytes), of which the client proves that it has its key. From the client: a proof of it (proof.ts). */
export const OfProof = 0x3;
