import { hostOf } from "../transport/dialling.js";
import { type ProviderWith, providerFor, transportUrl } from "../urls.js";
import type { TransportProvider } from "../transport/provider.js";
import { DEFAULT_PORT } from "../protocol.js";
import type { ServeSettings } from "../serve-options.js";
import type { ListenTarget } from "./listener.js";
import { listenQuic, listenWebTransport } from "./quic.js";
import { type PassedSocket, passedPorts } from "./systemd.js";

/** URL scheme of sockets that systemd has passed to this process. */
const PASSED = "systemd:";

/**
 * Both addresses of `localhost` (RFC 6761 §6.3). Browsers try the second first, regardless of the machine's hosts file.
 */
const LOOPBACK = { host: "127.0.0.1", otherHost: "::1" } as const;

export interface ProvidedTarget extends ListenTarget {
  readonly scheme: string;
  readonly provider: ProviderWith<"listen">;
  /** Second address to listen on, with the same port, if the machine has the address. */
  readonly otherHost?: string;
}

/**
 * Returns the listen targets of a server's options. `passed` are the sockets from systemd, by default those of this
 * process. Throws `TypeError` for a URL that no transport supports.
 */
export function targetsOf(
  { listen, host, port, transports = [] }: Pick<ServeSettings<never>, "listen" | "host" | "port" | "transports">,
  passed?: readonly PassedSocket[],
): readonly ProvidedTarget[] {
  if (listen !== undefined) {
    if (host !== undefined || port !== undefined)
      throw new TypeError(
        'serve() accepts either `listen` or `host` and `port`; with `listen` the port is part of the URL, as in "quic://[::]:4433"',
      );
    const urls = typeof listen === "string" || listen instanceof URL ? [listen] : listen;
    return urls.flatMap((url) => {
      if (String(url).startsWith(PASSED)) return passedTargets(new URL(url), passed);
      return [targetOf(transportUrl(url, "listen", transports), transports)];
    });
  }
  const scheme = "quic:";
  return [{ scheme, provider: providerFor(scheme, "listen", transports), host, port: port ?? DEFAULT_PORT, path: "/" }];
}

export function isPassed({ descriptor, datagramDescriptors }: ProvidedTarget): boolean {
  return descriptor !== undefined || datagramDescriptors !== undefined;
}

function passedTargets(url: URL, sockets: readonly PassedSocket[] | undefined): readonly ProvidedTarget[] {
  return passedPorts(url, sockets).map(({ scheme, path, ...sockets }) => {
    // Transports that are given know of no such sockets.
    return { scheme, provider: providerFor(scheme, "listen"), host: undefined, port: 0, path, ...sockets };
  });
}

/** Returns true if the target is a UDP port of the QUIC engine, which several workers can share. */
export function isOverUdp({ provider }: ProvidedTarget): boolean {
  return provider.listen === listenQuic || provider.listen === listenWebTransport;
}

/** Returns the target of a URL. Throws `TypeError` if no transport supports it. */
function targetOf(url: URL, transports: readonly TransportProvider[]): ProvidedTarget {
  const { protocol: scheme, port, pathname } = url;
  const provider = providerFor(scheme, "listen", transports);
  // A URL leaves the default ports of some schemes out.
  const { defaultPort = DEFAULT_PORT } = provider;
  const host = hostOf(url);
  return {
    scheme,
    provider,
    ...(host === "localhost" && !transports.includes(provider) ? LOOPBACK : { host }),
    port: port === "" ? defaultPort : Number(port),
    path: scheme === "unix:" ? decodeURIComponent(pathname) : pathname,
  };
}

export function urlOf(target: ProvidedTarget): string {
  const { scheme, host = "0.0.0.0", port, path } = target;
  if (isPassed(target)) return `${PASSED}${scheme.slice(0, -1)}${path === "/" ? "" : path}`;
  if (scheme === "unix:") return `${scheme}${path}`;
  return `${scheme}//${host.includes(":") ? `[${host}]` : host}:${port}${path === "/" ? "" : path}`;
}
