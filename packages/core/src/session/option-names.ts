import type { OptionNames } from "../check-options.js";
import type { CompressionOptions } from "../contract/compression.js";
import { DEFAULT_LIMITS } from "../limits.js";
import { ONCE_OPTIONS } from "../server/once-options.js";
import type { KeepAliveOptions } from "./keep-alive.js";
import type { RenewalOptions } from "./server-renewal.js";
import type { AdvancedSessionOptions, SessionOptions } from "./options.js";

const KEEP_ALIVE: OptionNames<KeepAliveOptions> = { intervalMs: true, timeoutMs: true };
const COMPRESSION: OptionNames<CompressionOptions> = { algorithms: true, minBytes: true };
const RENEWAL: OptionNames<RenewalOptions<unknown>> = { expiresAt: true, renew: true };

/** Names of the session options that `serve`, `connect` and `dial` have in `advanced`. */
export const ADVANCED_SESSION_OPTIONS: OptionNames<AdvancedSessionOptions> = {
  codec: true,
  codecs: true,
  compression: COMPRESSION,
  connection: true,
  keepAlive: KEEP_ALIVE,
  loadShedder: true,
  metadata: true,
  once: ONCE_OPTIONS,
  onForeignDatagram: true,
  onForeignStream: true,
  prefix: true,
  principal: true,
  proof: true,
  via: true,
};

/** Names of the options of a session. */
export const SESSION_OPTIONS: OptionNames<SessionOptions> = {
  ...ADVANCED_SESSION_OPTIONS,
  credentials: true,
  limits: DEFAULT_LIMITS,
  load: true,
  onError: true,
  peer: true,
  renewal: RENEWAL,
  renewCredentials: true,
  routers: true,
};
