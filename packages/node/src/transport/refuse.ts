import type { ListenSettings } from "../listen/listener.js";
import { plainHttpProvider } from "./built-in.js";
import type { TransportDialOptions } from "./dialling.js";
import type { TransportAbilities, TransportProvider } from "./provider.js";

/** Abilities of the transport that each option of a client needs. */
const DIAL_NEEDS: readonly (readonly [
  keyof Omit<TransportDialOptions, "credentials">,
  keyof TransportAbilities,
  string,
])[] = [
  ["headers", "headers", "has no header fields"],
  ["ca", "tls", "has no TLS"],
  ["serverCertificateHashes", "tls", "has no TLS"],
  ["serverName", "tls", "has no TLS"],
  ["cert", "clientCertificates", "has no certificates of clients"],
  ["key", "clientCertificates", "has no certificates of clients"],
  ["earlyData", "earlyData", "has no early data"],
];

/** Throws `TypeError` where an option names something that the transport cannot carry, which would be lost in silence. */
export function requireDialable(
  { name, abilities }: TransportProvider,
  scheme: string,
  options: Omit<TransportDialOptions, "credentials">,
): void {
  const { routers } = options as { readonly routers?: readonly unknown[] };
  if (abilities.sessions !== true && routers !== undefined && routers.length > 0) {
    throw new TypeError(
      `the option routers does not go with ${scheme}//: ${name} lets the client call, and nobody else`,
    );
  }
  const { metadata } = options as { readonly metadata?: unknown };
  if (abilities.sessions !== true && metadata !== undefined) {
    throw new TypeError(
      `the option metadata cannot travel by ${scheme}//: ${name} has no greeting. Give each call its metadata`,
    );
  }
  const { proof } = options as { readonly proof?: unknown };
  if (abilities.sessions !== true && proof !== undefined) {
    throw new TypeError(
      `the option proof cannot travel by ${scheme}//: ${name} has no sessions whose client proves its key`,
    );
  }
  for (const [option, ability, lack] of DIAL_NEEDS) {
    const value = options[option];
    if (value === undefined || value === false || abilities[ability] === true) continue;
    throw new TypeError(`the option ${option} cannot travel by ${scheme}//: ${name} ${lack}`);
  }
}

/** Schemes of listeners that have a TCP port for HTTP, or one beside theirs. */
const WITH_HTTP: ReadonlySet<string> = new Set(["quic:", "https:", "wss:", "ws:", "http:"]);

/** Throws `TypeError` where a server's setting names something that its listeners cannot carry. */
export function requireListenable(
  targets: readonly { readonly scheme: string; readonly provider: TransportProvider }[],
  { tls, clientCertificates, earlyData, trustedProxies, web }: ListenSettings,
): void {
  for (const { scheme, provider } of targets) {
    const { name, abilities } = provider;
    if (abilities.tls === true && tls === undefined) {
      throw new TypeError(
        `serve() needs the option tls for ${scheme}//: { cert, key }, or devCertificate() to develop`,
      );
    }
    if (clientCertificates === undefined || clientCertificates.required === false) continue;
    if (abilities.clientCertificates === true) continue;
    throw new TypeError(
      `clientCertificates are required, and ${scheme}// cannot ask for them: ${name} has none. { required: false } lets clients in without`,
    );
  }
  const able = (ability: keyof TransportAbilities): boolean =>
    targets.some(({ provider }) => provider.abilities[ability] === true);
  if (earlyData && !able("earlyData")) throw new TypeError("the option earlyData needs a listener of quic://");
  if (web.http !== undefined && !targets.some(({ scheme }) => WITH_HTTP.has(scheme))) {
    throw new TypeError(
      "the option http needs a listener of quic://, https://, wss://, ws:// or http://, beside or on whose port it answers",
    );
  }
  if (web.http === undefined && targets.some(({ provider }) => provider === plainHttpProvider)) {
    throw new TypeError(
      "http:// answers requests of plain HTTP, which the option http says how: serve({ http: true })",
    );
  }
  if (
    trustedProxies === undefined ||
    able("proxyHeader") ||
    web.webSocket ||
    web.http !== undefined ||
    web.protocols.length > 0
  )
    return;
  throw new TypeError("the option trustedProxies needs a listener over TCP: tls://, wss://, tcp:// or ws://");
}
