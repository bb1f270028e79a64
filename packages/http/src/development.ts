// Entry point of development builds and of Node: `index.ts` with a check of option names. Bundlers select it by the
// condition "development".
import { DEFAULT_LIMITS } from "@quicrpc/core";
import { withOptionCheck } from "@quicrpc/core/internal";
import * as plain from "./index.js";

// A declaration below replaces the export of the same name.
export * from "./index.js";

export const httpTransport: typeof plain.httpTransport = withOptionCheck("httpTransport()", plain.httpTransport, 0, {
  codec: true,
  compression: { algorithms: true, minBytes: true },
  credentials: true,
  fetch: true,
  get: true,
  headers: true,
  limits: DEFAULT_LIMITS,
  uploads: true,
});
