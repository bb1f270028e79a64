import type { TransportProvider } from "./transport/provider.js";
import { nearest } from "@quicrpc/core/internal";
import { BUILT_IN } from "./transport/built-in.js";

/**
 * Matches the part of a URL after its scheme, with a host: `localhost:4433`, `127.0.0.1`, `[::1]:4433`,
 * `orders.example/rpc`.
 */
const HOST = /^(\[[0-9a-f:.]+\]|[a-z0-9_-]+(\.[a-z0-9_-]+)*)(:\d+)?(\/.*)?$/i;

/**
 * Schemes that need a host, although the URL standard accepts these URLs without one because it does not know the
 * schemes.
 */
const WITH_HOST: ReadonlySet<string> = new Set(["quic:", "tls:", "tcp:"]);

/** Parses the URL of a transport. Throws `TypeError` for an invalid URL, with a suggestion in the message. */
export function transportUrl(
  input: string | URL,
  use: "dial" | "listen",
  transports: readonly TransportProvider[] = [],
): URL {
  const text: unknown = input;
  if (typeof text !== "string" && !(text instanceof URL)) {
    throw new TypeError(
      `a URL must be a string or a URL object, such as "quic://localhost:4433", not ${describe(text)}`,
    );
  }
  const url = parsed(input);
  if (url !== undefined && isKnown(url.protocol, use, transports)) {
    if (url.hostname !== "" || !WITH_HOST.has(url.protocol)) return url;
    throw new TypeError(`"${String(input)}" has no host: use a URL such as quic://localhost:4433`);
  }
  const isHost = HOST.test(String(input)) && (url === undefined || /^\d*(\/|$)/.test(url.pathname));
  if (isHost) throw new TypeError(`"${String(input)}" has no scheme: did you mean quic://${String(input)}?`);
  if (url === undefined) throw new TypeError(`"${String(input)}" is not a URL: use one such as quic://localhost:4433`);
  // Its error lists the known schemes.
  providerFor(url.protocol, use, transports);
  return url;
}

/**
 * Returns the URL at which a client on the same machine reaches a server. Replaces an address that stands for all
 * addresses, as in `quic://[::]:4433`, with a loopback address.
 */
export function reachableUrl(url: URL): URL {
  const host = UNSPECIFIED[url.hostname];
  if (host === undefined) return url;
  const reached = new URL(url);
  // For schemes that the URL standard does not know, the property `hostname` cannot be changed.
  reached.href = url.href.replace(`//${url.host}`, `//${url.host.replace(url.hostname, host)}`);
  return reached;
}

/** Addresses that stand for all addresses of a machine, each with the loopback address that replaces it. */
const UNSPECIFIED: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "[::]": "[::1]" };

function parsed(input: string | URL): URL | undefined {
  try {
    return new URL(input);
  } catch {
    return undefined;
  }
}

function isKnown(scheme: string, use: "dial" | "listen", transports: readonly TransportProvider[]): boolean {
  try {
    providerFor(scheme, use, transports);
    return true;
  } catch {
    return false;
  }
}

function describe(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "a list" : typeof value;
}

export type ProviderWith<What extends "dial" | "listen"> = TransportProvider & Required<Pick<TransportProvider, What>>;

function overHttp(scheme: string, use: "dial" | "listen"): string {
  if (scheme !== "http:") return "";
  if (use === "listen") return "; for plain HTTP without TLS use ws:// with the option http: true";
  return "; for calls over plain HTTP pass advanced: { transports: [httpTransport()] }, from @quicrpc/http";
}

/**
 * Returns the transport provider for a URL scheme such as "quic:". Looks in `transports` first, then at the built-in
 * providers. Throws `TypeError` if no provider supports the scheme for `use`.
 */
export function providerFor<What extends "dial" | "listen">(
  scheme: string,
  use: What,
  transports: readonly TransportProvider[] = [],
): ProviderWith<What> {
  const all = [...transports, ...BUILT_IN];
  const provider = all.find(
    (provider): provider is ProviderWith<What> => provider[use] !== undefined && provider.schemes.includes(scheme),
  );
  if (provider !== undefined) return provider;
  const able = all.filter((provider) => provider[use] !== undefined).flatMap(({ schemes }) => schemes);
  const known = Array.from(new Set(able), (scheme) => `${scheme}//`).join(", ");
  const text = use === "dial" ? "a URL must begin" : "a URL to listen on must begin";
  const near = nearest(scheme, able);
  const suggestion = near === undefined ? "" : `did you mean ${near}//? `;
  throw new TypeError(
    `${scheme}// is not a known transport: ${suggestion}${text} with one of ${known}${overHttp(scheme, use)}`,
  );
}
