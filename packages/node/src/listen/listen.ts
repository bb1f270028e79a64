import { hostOf, type Engine } from "../dial/dialler.js";
import { failsError, http3Problem } from "../fails/package.js";
import { DEFAULT_PORT } from "../protocol.js";
import type { Arrival, Listen, Listener, ListenSettings, ListenTarget } from "./listener.js";
import { listenQuic, listenWebTransport } from "./quic.js";
import type { WebOffer } from "./web.js";

// Loaded when they are used, as in dial.ts.
const listenTcp: Listen = async (...args) => (await import("./sockets.js")).listenTcp(...args);
const listenTls: Listen = async (...args) => (await import("./sockets.js")).listenTls(...args);
const listenUnix: Listen = async (...args) => (await import("./sockets.js")).listenUnix(...args);
const listenWs: Listen = async (...args) => (await import("./web.js")).listenWs(...args);
const listenFailsHttp3: Listen = async (...args) => (await import("../fails/http3.js")).listenFailsHttp3(...args);
const listenWeb =
  (offer: WebOffer): Listen =>
  async (...args) =>
    (await import("./web.js")).listenWeb(offer)(...args);

const LISTENERS: ReadonlyMap<string, Listen> = new Map<string, Listen>([
  ["quic:", listenQuic],
  ["https:", listenWebTransport],
  ["tcp:", listenTcp],
  ["tls:", listenTls],
  ["unix:", listenUnix],
  ["ws:", listenWs],
  ["wss:", listenWeb({ webSocket: true, http2: false })],
]);

/** A target with its scheme, such as "quic:". */
interface SchemedTarget extends ListenTarget {
  readonly scheme: string;
}

/** What `quic://` and `https://` are carried by, and what is offered beside them on TCP. */
export interface Offer {
  readonly engine: Engine;
  /** Of the engine "fails". Default: HTTP/2, and HTTP/3 where it can be had. */
  readonly httpVersion: 2 | 3 | undefined;
  readonly webSocket: boolean;
  readonly http2: boolean;
}

/** Free ports of one protocol whose number is tried for the other as well. */
const MAX_TRIES = 10;

/**
 * Listens on a URL; where that is a UDP port, on the TCP port of the same number as well, if anything is offered there.
 * Throws `TypeError` for a URL of another scheme.
 */
export async function listen(
  where: string | URL | SchemedTarget,
  offer: Offer,
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
  if (scheme !== "quic:" && scheme !== "https:") return [await start(target, settings, onArrival)];
  const { engine, webSocket, http2 } = offer;
  if (engine === "fails") return listenFails(target, offer, settings, onArrival);
  if (!webSocket && !http2) return [await start(target, settings, onArrival)];
  return listenTwice(start, listenWeb({ webSocket, http2 }), target, settings, onArrival);
}

async function listenFails(
  target: SchemedTarget,
  { httpVersion, webSocket }: Offer,
  settings: ListenSettings,
  onArrival: (arrival: Arrival) => void,
): Promise<Listener[]> {
  if (target.scheme === "quic:") throw new TypeError('the engine "fails" listens on https://, not on quic://');
  const overTcp = listenWeb({ webSocket, http2: true });
  const problem = httpVersion === 2 ? undefined : await http3Problem();
  if (problem !== undefined && httpVersion === 3) throw failsError("ERR_FAILS_HTTP3", problem);
  if (problem === undefined && httpVersion !== 2) {
    return listenTwice(overTcp, listenFailsHttp3, target, settings, onArrival);
  }
  const listeners = [await overTcp(target, settings, onArrival)];
  if (problem !== undefined) {
    process.emitWarning(`${problem}: ${listeners[0]?.url} has HTTP/2 only`, { code: "QUICRPC_FAILS_HTTP2" });
  }
  return listeners;
}

/** Two listeners on ports of the same number. */
async function listenTwice(
  one: Listen,
  other: Listen,
  target: ListenTarget,
  settings: ListenSettings,
  onArrival: (arrival: Arrival) => void,
): Promise<Listener[]> {
  for (let tries = 1; ; tries++) {
    const first = await one(target, settings, onArrival);
    try {
      const { port } = first.address ?? target;
      return [first, await other({ ...target, port, path: target.path || "/" }, settings, onArrival)];
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
