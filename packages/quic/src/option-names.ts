import type { BindOptions } from "./bind-options.js";
import type { ConnectionIdOptions } from "./connection-ids.js";
import type { ConnectOptions } from "./dial.js";
import type { ListenOptions, WebTransportListenOptions } from "./endpoint.js";
import type { Http3ConnectOptions, HttpRequestInit } from "./http3-session.js";
import { invalidOption } from "./errors.js";
import { DEFAULT_TRANSPORT } from "./limits.js";
import type { InheritedPortOptions, PortGroupOptions } from "./port-group.js";
import type {
  CertificateOptions,
  ClientCertificateOptions,
  ClientTlsOptions,
  ServerTlsOptions,
} from "./tls-options.js";
import type { WebTransportConnectOptions } from "./web-transport-dial.js";

/**
 * Names of all options of one function. Options that are objects contain the names of their members. The type ensures
 * that no name is missing.
 */
type OptionNames<Options> = Readonly<Record<keyof Options, true | object>>;

const CERTIFICATE: OptionNames<CertificateOptions> = { cert: true, key: true };
const CLIENT_CERTIFICATES: OptionNames<ClientCertificateOptions> = { ca: true, required: true };
const CLIENT_TLS: OptionNames<ClientTlsOptions> = { ...CERTIFICATE, ca: true, serverCertificateHashes: true };
const CONNECTION_IDS: OptionNames<ConnectionIdOptions> = { config: true, key: true, nonceBytes: true, serverId: true };
const WEB_TRANSPORT: OptionNames<WebTransportListenOptions> = {
  maxSessionsPerConnection: true,
  onRequest: true,
  protocols: true,
};

export const BIND_OPTIONS: OptionNames<BindOptions> = {
  busyPoll: true,
  connectionIds: CONNECTION_IDS,
  driver: true,
  host: true,
  member: true,
  offload: true,
  onError: true,
  port: true,
  reusePort: true,
  secret: true,
};

export const REBIND_OPTIONS = { host: true, port: true } as const;

export const SERVER_TLS_OPTIONS: OptionNames<ServerTlsOptions> = {
  clientCertificates: CLIENT_CERTIFICATES,
  earlyData: true,
  ticketKeys: true,
  // A certificate may have further properties, such as the hash in the result of `devCertificate()`.
  tls: true,
};

export const LISTEN_OPTIONS: OptionNames<ListenOptions> = {
  ...SERVER_TLS_OPTIONS,
  admission: true,
  alpn: true,
  onHandshakeError: true,
  onHttpRequest: true,
  transport: DEFAULT_TRANSPORT,
  webTransport: WEB_TRANSPORT,
};

export const HTTP3_OPTIONS: OptionNames<Http3ConnectOptions> = {
  handshakeTimeoutMs: true,
  serverName: true,
  signal: true,
  tls: CLIENT_TLS,
  transport: DEFAULT_TRANSPORT,
};

export const HTTP_REQUEST_OPTIONS: OptionNames<HttpRequestInit> = {
  authority: true,
  end: true,
  headers: true,
  method: true,
  path: true,
};

export const CONNECT_OPTIONS: OptionNames<ConnectOptions> = {
  alpn: true,
  earlyData: true,
  host: true,
  port: true,
  ...HTTP3_OPTIONS,
};

export const WEB_TRANSPORT_OPTIONS: OptionNames<WebTransportConnectOptions> = {
  allowPooling: true,
  datagrams: true,
  headers: true,
  protocols: true,
  ...HTTP3_OPTIONS,
};

export const PORT_GROUP_OPTIONS: OptionNames<PortGroupOptions> = {
  connectionIds: CONNECTION_IDS,
  host: true,
  places: true,
  port: true,
  steering: true,
};

export const INHERITED_PORT_OPTIONS: OptionNames<InheritedPortOptions> = {
  connectionIds: CONNECTION_IDS,
  descriptors: true,
  places: true,
};

/**
 * Throws `QuicError` if `options` contains a name that the function does not have, also in nested objects. Without this
 * check, a misspelt option would have no effect. Options with the value undefined are ignored.
 */
export function checkOptionNames(where: string, options: object, names: object, path = ""): void {
  for (const [name, value] of Object.entries(options) as [string, unknown][]) {
    if (value === undefined) continue;
    if (!Object.hasOwn(names, name)) {
      throw invalidOption(`${where} has no option ${path}${name}: it has ${Object.keys(names).join(", ")}`);
    }
    const nested: unknown = names[name as keyof typeof names];
    if (typeof nested !== "object" || nested === null) continue;
    for (const element of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (typeof element === "object" && element !== null) checkOptionNames(where, element, nested, `${path}${name}.`);
    }
  }
}
