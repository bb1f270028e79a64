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

/** Listens on a URL. Throws `TypeError` for one of another scheme. */
export function listen(
  where: string | URL | SchemedTarget,
  settings: ListenSettings,
  onArrival: (arrival: Arrival) => void,
): Promise<Listener> {
  const target = typeof where === "string" || where instanceof URL ? parse(new URL(where)) : where;
  const start = LISTENERS.get(target.scheme);
  if (start === undefined) {
    const known = Array.from(LISTENERS.keys(), (scheme) => `${scheme}//`).join(", ");
    throw new TypeError(`${target.scheme}// is no transport: a URL to listen on begins with one of ${known}`);
  }
  return start(target, settings, onArrival);
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
