import { nearest } from "@quicrpc/core/generated";
import { BUILT_IN } from "./built-in.js";
import type { TransportProvider } from "./provider.js";

/** A provider that can dial, or listen. */
export type Able<What extends "dial" | "listen"> = TransportProvider & Required<Pick<TransportProvider, What>>;

function overHttp(scheme: string, what: "dial" | "listen"): string {
  if (scheme !== "http:") return "";
  if (what === "listen") return "; for plain HTTP without TLS use ws:// with the option http: true";
  return "; for calls over plain HTTP pass advanced: { transports: [httpTransport()] }, from @quicrpc/http";
}

/**
 * Returns the provider for a URL's scheme, such as "quic:": one of the given providers, or a built-in one. Throws
 * `TypeError` if none supports `what`.
 */
export function providerFor<What extends "dial" | "listen">(
  scheme: string,
  what: What,
  transports: readonly TransportProvider[] = [],
): Able<What> {
  const all = [...transports, ...BUILT_IN];
  const found = all.find(
    (provider): provider is Able<What> => provider[what] !== undefined && provider.schemes.includes(scheme),
  );
  if (found !== undefined) return found;
  const able = all.filter((provider) => provider[what] !== undefined).flatMap(({ schemes }) => schemes);
  const known = Array.from(new Set(able), (scheme) => `${scheme}//`).join(", ");
  const text = what === "dial" ? "a URL must begin" : "a URL to listen on must begin";
  const near = nearest(scheme, able);
  const suggestion = near === undefined ? "" : `did you mean ${near}//? `;
  throw new TypeError(
    `${scheme}// is not a known transport: ${suggestion}${text} with one of ${known}${overHttp(scheme, what)}`,
  );
}
