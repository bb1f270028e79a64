import { nearest } from "@quicrpc/core/generated";
import { BUILT_IN } from "./built-in.js";
import type { TransportProvider } from "./provider.js";

/** A provider that can dial, or listen. */
export type Able<What extends "dial" | "listen"> = TransportProvider & Required<Pick<TransportProvider, What>>;

function overHttp(scheme: string, use: "dial" | "listen"): string {
  if (scheme !== "http:") return "";
  if (use === "listen") return "; for plain HTTP without TLS use ws:// with the option http: true";
  return "; for calls over plain HTTP pass advanced: { transports: [httpTransport()] }, from @quicrpc/http";
}

/**
 * Returns the provider for a URL's scheme, such as "quic:": one of the given providers, or a built-in one. Throws
 * `TypeError` if none supports `use`.
 */
export function providerFor<What extends "dial" | "listen">(
  scheme: string,
  use: What,
  transports: readonly TransportProvider[] = [],
): Able<What> {
  const all = [...transports, ...BUILT_IN];
  const provider = all.find(
    (provider): provider is Able<What> => provider[use] !== undefined && provider.schemes.includes(scheme),
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
