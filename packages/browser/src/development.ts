// Entry of development builds: same as `index.ts`, but checks option names. Bundlers select it by the condition
// "development".
import { checkOptions, ADVANCED_SESSION_OPTIONS, CONNECTION_OPTIONS, type OptionNames } from "@quicrpc/core/internal";
import type { Session } from "@quicrpc/core";
import { connect as connectUnchecked, type ConnectOptions } from "./connect.js";
import {
  connectWebTransport as connectWebTransportUnchecked,
  type WebTransportConnectOptions,
} from "./connect-web-transport.js";
import { dial as dialUnchecked, type DialOptions, type FallbackOptions } from "./dial.js";
import type { BrowserConnection, ReconnectingOptions } from "./reconnecting.js";
import type { BrowserTransport } from "./transport.js";

const FALLBACK: OptionNames<FallbackOptions> = {
  afterMs: true,
  http: true,
  httpUrl: true,
  rememberMs: true,
  retry: CONNECTION_OPTIONS.backoff,
  transport: true,
  url: true,
};
const RECONNECTING: OptionNames<ReconnectingOptions> = {
  backoff: CONNECTION_OPTIONS.backoff,
  limits: CONNECTION_OPTIONS.limits,
  peer: true,
  reconnect: true,
  signal: true,
  timeoutMs: true,
};

const ADVANCED = { ...ADVANCED_SESSION_OPTIONS, transport: true } as const;
const DIAL_OPTIONS: OptionNames<DialOptions> = {
  advanced: ADVANCED,
  credentials: true,
  fallback: FALLBACK,
  limits: CONNECTION_OPTIONS.limits,
  onError: true,
  routers: true,
  serverCertificateHashes: true,
  signal: true,
  timeoutMs: true,
};
const CONNECT_OPTIONS: OptionNames<ConnectOptions> = {
  ...DIAL_OPTIONS,
  advanced: { ...ADVANCED, backoff: CONNECTION_OPTIONS.backoff },
  reconnect: true,
};
const WEB_TRANSPORT_OPTIONS: OptionNames<WebTransportConnectOptions> = {
  ...RECONNECTING,
  credentials: true,
  proof: true,
  metadata: true,
  prefix: true,
  serverCertificateHashes: true,
  session: true,
  via: true,
};

/** Same as `dial` in `index.ts`, but rejects with `TypeError` for an unknown option. */
export async function dial<Context = unknown>(
  url: string | URL,
  options: DialOptions<Context> = {},
): Promise<Session<BrowserTransport>> {
  checkOptions("dial()", options, DIAL_OPTIONS);
  return dialUnchecked(url, options);
}

/** Same as `connect` in `index.ts`, but rejects with `TypeError` for an unknown option. */
export async function connect<Context = unknown>(
  url: string | URL,
  options: ConnectOptions<Context> = {},
): Promise<BrowserConnection> {
  checkOptions("connect()", options, CONNECT_OPTIONS);
  return connectUnchecked(url, options);
}

/** Same as `connectWebTransport` in `index.ts`, but rejects with `TypeError` for an unknown option. */
export async function connectWebTransport(
  url: string | URL,
  options: WebTransportConnectOptions = {},
): Promise<BrowserConnection> {
  checkOptions("connectWebTransport()", options, WEB_TRANSPORT_OPTIONS);
  return connectWebTransportUnchecked(url, options);
}
