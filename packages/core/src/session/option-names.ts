import type { OptionNames } from "../check-options.js";
import type { CompressionOptions } from "../contract/compression.js";
import { DEFAULT_LIMITS } from "../limits.js";
import { ONCE_OPTIONS } from "../server/once/once-options.js";
import type { KeepAliveOptions } from "./keep-alive.js";
import type { RenewalOptions } from "./server-renewal.js";
import type { SessionOptions } from "./options.js";

const KEEP_ALIVE: OptionNames<KeepAliveOptions> = { intervalMs: true, timeoutMs: true };
const COMPRESSION: OptionNames<CompressionOptions> = { algorithms: true, minBytes: true };
const RENEWAL: OptionNames<RenewalOptions<unknown>> = { expiresAt: true, renew: true };

/** Names of the options of a session. */
export const SESSION_OPTIONS: OptionNames<SessionOptions> = {
  codec: true,
  codecs: true,
  compression: COMPRESSION,
  connection: true,
  credentials: true,
  keepAlive: KEEP_ALIVE,
  limits: DEFAULT_LIMITS,
  load: true,
  loadShedder: true,
  metadata: true,
  once: ONCE_OPTIONS,
  onError: true,
  onForeignDatagram: true,
  onForeignStream: true,
  peer: true,
  prefix: true,
  principal: true,
  proof: true,
  renewal: RENEWAL,
  renewCredentials: true,
  routers: true,
  via: true,
};
