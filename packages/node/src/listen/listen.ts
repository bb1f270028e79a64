import { hostOf } from "../dial/dialler.js";
import { DEFAULT_PORT } from "../protocol.js";
import type { Arrival, Listen, Listener, ListenSettings, ListenTarget } from "./listener.js";
import { listenQuic, listenWebTransport } from "./quic.js";
import { listenTcp, listenTls, listenUnix } from "./sockets.js";
import { listenWs, listenWss } from "./web-socket.js";

const LISTENERS: ReadonlyMap<string, Listen> = new Map<string, Listen>([
  ["quic:", listenQuic],
  ["https:", listenWebTransport],
  ["tcp:", listenTcp],
  ["tls:", listenTls],
  ["unix:", listenUnix],
  ["ws:", listenWs],
  ["wss:", listenWss],
]);

/** A target with its scheme, such as "quic:". */
interface SchemedTarget extends ListenTarget {
  readonly scheme: string;
}

/** Free UDP ports whose number is tried for TCP as well. */
const MAX_TRIES = 10;

/**
 * Listens on a URL; with `webSocket`, where that is a UDP port, on the TCP port of the same number as well. Throws
 * `TypeError` for a URL of another scheme.
 */
export async function listen(
  where: string | URL | SchemedTarget,
  webSocket: boolean,
  settings: ListenSettings,
  onArrival: (arrival: Arrival) => void,
): Promise<Listener[]> {
  const target = typeof where === "string" || where instanceof URL ? parse(new URL(where)) : where;
  const { scheme } = target;
  const start = LISTENERS.get(scheme);
  if (start === undefined) {
    const known = Array.from(LISTENERS.keys(), (scheme) => `${scheme}//`).join(", ");
    throw new TypeError(`${scheme}// is no transport: a URL to listen on begins with one of ${known}`);
  }
  if (!webSocket || (scheme !== "quic:" && scheme !== "https:")) return [await start(target, settings, onArrival)];
  for (let tries = 1; ; tries++) {
    const first = await start(target, settings, onArrival);
    try {
      const { port } = first.address ?? target;
      return [first, await listenWss({ ...target, port, path: target.path || "/" }, settings, onArrival)];
    } catch (error) {
      await first.close();
      if (!isTaken(error) || target.port !== 0 || tries === MAX_TRIES) throw error;
    }
  }
}

function isTaken(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "EADDRINUSE";
}

function parse(url: URL): SchemedTarget {
  const { protocol, port, pathname } = url;
  // Of these a URL leaves their own default ports out.
  const usual = protocol === "ws:" ? 80 : protocol === "wss:" || protocol === "https:" ? 443 : DEFAULT_PORT;
  return {
    scheme: protocol,
    host: hostOf(url),
    port: port === "" ? usual : Number(port),
    path: protocol === "unix:" ? decodeURIComponent(pathname) : pathname,
  };
}
