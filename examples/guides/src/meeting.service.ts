import { rpc, service } from "@quicrpc/core";
import { z } from "zod";

/** SHA-256 hash of a certificate. */
const Hash = z.instanceof(Uint8Array);

export const Meeting = service("peers.v1.Meeting", {
  /** Waits until two peers are in a room. Tells each of them where the other is, and which of them dials. */
  join: rpc({
    input: z.object({ room: z.string().min(1).max(100), hash: Hash }),
    output: z.object({ host: z.string(), port: z.int(), hash: Hash, dials: z.boolean() }),
  }),
});
