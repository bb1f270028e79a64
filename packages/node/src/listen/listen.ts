import { hostOf } from "../transport/dialling.js";
import { type Able, providerFor } from "../transport/choose.js";
import type { TransportProvider } from "../transport/provider.js";
import { DEFAULT_PORT } from "../protocol.js";
import type { ListenTarget } from "./listener.js";

/** A target, and the provider that listens there. */
export interface ProvidedTarget extends ListenTarget {
  readonly scheme: string;
  readonly provider: Able<"listen">;
}

/** Where a URL says to listen. Throws `TypeError` for one that no transport takes. */
export function targetOf(url: URL, transports: readonly TransportProvider[]): ProvidedTarget {
  const { protocol: scheme, port, pathname } = url;
  const provider = providerFor(scheme, "listen", transports);
  // A URL leaves the default ports of some schemes out.
  const { defaultPort = DEFAULT_PORT } = provider;
  return {
    scheme,
    provider,
    host: hostOf(url),
    port: port === "" ? defaultPort : Number(port),
    path: scheme === "unix:" ? decodeURIComponent(pathname) : pathname,
  };
}

/** A target as the URL that a message names. */
export function urlOf({ scheme, host = "0.0.0.0", port, path }: ProvidedTarget): string {
  if (scheme === "unix:") return `${scheme}${path}`;
  return `${scheme}//${host.includes(":") ? `[${host}]` : host}:${port}${path === "/" ? "" : path}`;
}
