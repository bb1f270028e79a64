// `index.ts` with a check of option names: the entry of development builds and of Node. Bundlers select it by the
// condition "development".
import { withOptionCheck } from "./check-options.js";
import { CONNECTION_OPTIONS, SESSION_OPTIONS } from "./connection/option-names.js";
import * as plain from "./index.js";

// A declaration below replaces the export of the same name.
export * from "./index.js";

const STREAM_SESSION = { limits: SESSION_OPTIONS.limits, prefix: true, peer: true } as const;
const CLIENT_SESSION = {
  ...STREAM_SESSION,
  credentials: true,
  metadata: true,
  proof: true,
  renewCredentials: true,
  via: true,
} as const;

export const createSession: typeof plain.createSession = withOptionCheck(
  "createSession()",
  plain.createSession,
  1,
  SESSION_OPTIONS,
);
export const createClientSession: typeof plain.createClientSession = withOptionCheck(
  "createClientSession()",
  plain.createClientSession,
  1,
  CLIENT_SESSION,
);
export const createStreamSession: typeof plain.createStreamSession = withOptionCheck(
  "createStreamSession()",
  plain.createStreamSession,
  1,
  STREAM_SESSION,
);
export const createConnection: typeof plain.createConnection = withOptionCheck(
  "createConnection()",
  plain.createConnection,
  1,
  {
    ...CONNECTION_OPTIONS,
    improve: true,
  },
);
export const retry: typeof plain.retry = withOptionCheck("retry()", plain.retry, 0, {
  codes: true,
  factor: true,
  initialDelayMs: true,
  maxAttempts: true,
  maxDelayMs: true,
  maxTokens: true,
  random: true,
  tokenRatio: true,
});
export const concurrencyLimit: typeof plain.concurrencyLimit = withOptionCheck(
  "concurrencyLimit()",
  plain.concurrencyLimit,
  0,
  { maxCalls: true, maxQueued: true },
);
export const authentication: typeof plain.authentication = withOptionCheck(
  "authentication()",
  plain.authentication,
  0,
  {
    identity: true,
    isPublic: true,
    verify: true,
  },
);
export const authorize: typeof plain.authorize = withOptionCheck("authorize()", plain.authorize, 0, {
  permissionOf: true,
  scopesOf: true,
});
