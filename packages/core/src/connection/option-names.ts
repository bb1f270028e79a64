import type { OptionNames } from "../check-options.js";
import { DEFAULT_LIMITS } from "../limits.js";
import { DEFAULT_BACKOFF } from "../call/backoff.js";
import type { ConnectionOptions } from "./connection.js";

/** Names of the options of a connection. */
export const CONNECTION_OPTIONS: OptionNames<ConnectionOptions> = {
  backoff: DEFAULT_BACKOFF,
  isPermanent: true,
  limits: DEFAULT_LIMITS,
  peer: true,
  reconnect: true,
};
