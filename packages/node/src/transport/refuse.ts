import { publicUrl, refusedOption, SESSION_NEEDS } from "@quicrpc/core/internal";
import type { ListenSettings } from "../listen/listener.js";
import { plainHttpProvider } from "./built-in.js";
import type { TransportDialOptions } from "./dialling.js";
import type { TransportCapabilities, TransportProvider } from "./provider.js";

type DialOption = keyof Omit<TransportDialOptions, "credentials">;

/** Options of Node clients, and the transport capabilities that they require. */
const DIAL_NEEDS: readonly (readonly [DialOption | "routers", keyof TransportCapabilities, string])[] = [
  ["routers", "sessions", "only lets the client make calls"],
  ["headers", "headers", "has no header fields"],
  ["ca", "tls", "has no TLS"],
  ["serverCertificateHashes", "tls", "has no TLS"],
  ["serverName", "tls", "has no TLS"],
  ["cert", "clientCertificates", "has no certificates of clients"],
  ["key", "clientCertificates", "has no certificates of clients"],
  ["earlyData", "earlyData", "has no early data"],
];
const ALL_NEEDS = [...SESSION_NEEDS, ...DIAL_NEEDS];

/**
 * Throws `TypeError` if an option requires a capability that the transport does not have. Without this check, the
 * option would have no effect.
 */
export function requireDialable(
  provider: TransportProvider,
  url: URL,
  options: Omit<TransportDialOptions, "credentials">,
): void {
  const refused = refusedOption(publicUrl(url), provider, options, ALL_NEEDS);
  if (refused !== undefined) throw new TypeError(refused);
}

/** URL schemes of listeners with a TCP port that can serve plain HTTP. */
const WITH_HTTP: ReadonlySet<string> = new Set(["quic:", "https:", "wss:", "ws:", "http:"]);

/** Throws `TypeError` if a server option requires a capability that the transports of its listeners do not have. */
export function requireListenable(
  targets: readonly { readonly scheme: string; readonly provider: TransportProvider }[],
  { tls, clientCertificates, earlyData, trustedProxies, web }: ListenSettings,
): void {
  for (const { scheme, provider } of targets) {
    const { name, capabilities } = provider;
    if (capabilities.tls === true && tls === undefined) {
      throw new TypeError(
        `serve() requires the option tls for ${scheme}//: { cert, key }, or devCertificate() for development`,
      );
    }
    if (clientCertificates === undefined || clientCertificates.required === false) continue;
    if (capabilities.clientCertificates === true) continue;
    throw new TypeError(
      `clientCertificates are required, but ${scheme}// cannot request them: ${name} has none. { required: false } accepts clients without one`,
    );
  }
  const able = (capability: keyof TransportCapabilities): boolean =>
    targets.some(({ provider }) => provider.capabilities[capability] === true);
  if (earlyData && !able("earlyData")) throw new TypeError("the option earlyData requires a quic:// listener");
  if (web.http !== undefined && !targets.some(({ scheme }) => WITH_HTTP.has(scheme))) {
    throw new TypeError(
      "the options http and extensions require a quic://, https://, wss://, ws:// or http:// listener, whose port it uses",
    );
  }
  if (web.http === undefined && targets.some(({ provider }) => provider === plainHttpProvider)) {
    throw new TypeError("http:// serves plain HTTP and requires the option http: serve({ http: true })");
  }
  if (
    trustedProxies === undefined ||
    able("proxyHeader") ||
    web.webSocket ||
    web.http !== undefined ||
    web.protocols.length > 0
  )
    return;
  throw new TypeError("the option trustedProxies requires a listener over TCP: tls://, wss://, tcp:// or ws://");
}
