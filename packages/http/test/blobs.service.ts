import { rpc, service } from "@quicrpc/core";
import { blob } from "@quicrpc/blobs";
import { z } from "zod";

/** Blobs, each way. */
export const Blobs = service("test.v1.HttpBlobs", {
  put: rpc({ input: z.object({ note: z.string(), file: blob({ maxBytes: 1_000_000 }) }), output: z.string() }),
  get: rpc({ input: z.string(), output: z.object({ file: blob().optional() }) }),
  check: rpc({ input: z.object({ file: blob({ digest: "sha-256", resumable: true }) }), output: z.string() }),
  /** Gives back what was sent, and asks for its digest. */
  same: rpc({
    input: z.object({ first: blob({ resumable: true }).optional(), second: blob().optional() }),
    output: z.object({ first: blob({ digest: "sha-256", resumable: true }).optional(), second: blob().optional() }),
  }),
});
