import type { BindOptions } from "./bind-options.js";
import type { ConnectionIdOptions } from "./connection-ids.js";
import type { ConnectOptions } from "./dial.js";
import type { ListenOptions, WebTransportListenOptions } from "./endpoint.js";
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

/** Names of the options of one function, complete by their type. One that has options of its own has their names, as an object. */
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

/** Names of the options of `Endpoint.bind`. */
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

/** Names of the options of `Endpoint.rebind`. */
export const REBIND_OPTIONS = { host: true, port: true } as const;

/** Names of the options of `Endpoint.updateTls`. */
export const SERVER_TLS_OPTIONS: OptionNames<ServerTlsOptions> = {
  clientCertificates: CLIENT_CERTIFICATES,
  earlyData: true,
  ticketKeys: true,
  // A certificate may have more beside it, such as that of `devCertificate()` its hash.
  tls: true,
};

/** Names of the options of `Endpoint.listen`. */
export const LISTEN_OPTIONS: OptionNames<ListenOptions> = {
  ...SERVER_TLS_OPTIONS,
  admission: true,
  alpn: true,
  onHandshakeError: true,
  onHttpRequest: true,
  transport: DEFAULT_TRANSPORT,
  webTransport: WEB_TRANSPORT,
};

/** Names of the options of `connect`. */
export const CONNECT_OPTIONS: OptionNames<ConnectOptions> = {
  alpn: true,
  earlyData: true,
  handshakeTimeoutMs: true,
  host: true,
  port: true,
  serverName: true,
  signal: true,
  tls: CLIENT_TLS,
  transport: DEFAULT_TRANSPORT,
};

/** Names of the options of `connectWebTransport`. */
export const WEB_TRANSPORT_OPTIONS: OptionNames<WebTransportConnectOptions> = {
  allowPooling: true,
  datagrams: true,
  handshakeTimeoutMs: true,
  headers: true,
  protocols: true,
  serverName: true,
  signal: true,
  tls: CLIENT_TLS,
  transport: DEFAULT_TRANSPORT,
};

/** Names of the options of `PortGroup.bind`. */
export const PORT_GROUP_OPTIONS: OptionNames<PortGroupOptions> = {
  connectionIds: CONNECTION_IDS,
  host: true,
  places: true,
  port: true,
  steering: true,
};

/** Names of the options of `PortGroup.inherit`. */
export const INHERITED_PORT_OPTIONS: OptionNames<InheritedPortOptions> = {
  connectionIds: CONNECTION_IDS,
  descriptors: true,
  places: true,
};

/**
 * Throws `QuicError` where options, or those inside one of them, have a name that the function does not know, which would be passed over in
 * silence. What is undefined counts as left out.
 */
export function checkOptions(where: string, options: object, names: object, path = ""): void {
  for (const [name, value] of Object.entries(options) as [string, unknown][]) {
    if (value === undefined) continue;
    if (!Object.hasOwn(names, name)) {
      throw invalidOption(`${where} has no option ${path}${name}: it has ${Object.keys(names).join(", ")}`);
    }
    const own: unknown = names[name as keyof typeof names];
    if (typeof own !== "object" || own === null) continue;
    for (const one of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (typeof one === "object" && one !== null) checkOptions(where, one, own, `${path}${name}.`);
    }
  }
}
