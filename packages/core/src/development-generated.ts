// As `generated.ts`, with options checked by name: the entry of development builds and of Node, as `development.ts` is.
import { checked } from "./check-options.js";
import * as plain from "./generated.js";

// What is declared below takes the place of the same name there.
export * from "./generated.js";

export const zodCodec: typeof plain.zodCodec = checked("zodCodec()", plain.zodCodec, 1, { maxNodes: true });
export const defineMethod: typeof plain.defineMethod = checked("defineMethod()", plain.defineMethod, 3, {
  blobs: true,
  cursor: true,
  delivery: true,
  errors: true,
  fingerprint: true,
  id: true,
  idempotent: true,
  input: true,
  meta: true,
  once: true,
  output: true,
  priority: true,
  readOnly: true,
  resumable: true,
  via: true,
});
