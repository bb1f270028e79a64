import type { OptionNames } from "../check-options.js";
import { DEFAULT_LIMITS } from "../limits.js";
import { DEFAULT_BACKOFF } from "../call/backoff.js";
import type { ConnectionOptions } from "./connection.js";
import type { CompressionOptions } from "../contract/compression.js";
import { ONCE_OPTIONS } from "../server/once-options.js";
import type { KeepAliveOptions } from "../session/sole-session.js";
import type { RenewalOptions } from "../session/server-renewal.js";
import type { AdvancedSessionOptions, SessionOptions } from "../session/options.js";

const KEEP_ALIVE: OptionNames<KeepAliveOptions> = { intervalMs: true, timeoutMs: true };
const COMPRESSION: OptionNames<CompressionOptions> = { algorithms: true, minBytes: true };
const RENEWAL: OptionNames<RenewalOptions<unknown>> = { expiresAt: true, renew: true };

/** Names of the session options in `advanced` of `serve`, `connect` and `dial`, for checking options. */
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

export const CONNECTION_OPTIONS: OptionNames<ConnectionOptions> = {
  backoff: DEFAULT_BACKOFF,
  isPermanent: true,
  limits: DEFAULT_LIMITS,
  peer: true,
  reconnect: true,
};
