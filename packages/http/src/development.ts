// The entry of development builds and of Node: as `index.ts`, with options checked by name. Bundlers find it by the condition "development".
import { DEFAULT_LIMITS } from "@quicrpc/core";
import { checked } from "@quicrpc/core/transport";
import * as plain from "./index.js";

// What is declared below takes the place of the same name there.
export * from "./index.js";

export const httpTransport: typeof plain.httpTransport = checked("httpTransport()", plain.httpTransport, 0, {
  codec: true,
  compression: { algorithms: true, minBytes: true },
  credentials: true,
  fetch: true,
  get: true,
  headers: true,
  limits: DEFAULT_LIMITS,
  uploads: true,
});
