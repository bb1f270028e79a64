import { timingSafeEqual, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { hostname } from "node:os";
import type { Duplex } from "node:stream";
import { type Connection, createSession, type Router, type Session } from "@quicrpc/core";
import { WEBSOCKET_PROTOCOL, webSocketTransport } from "@quicrpc/core/transport";
import { WebSocketServer } from "ws";
import { originsOf, type PageFile, type PageSettings, pageDocument, pageFile, type Trust } from "./assets.js";
import { CarrierPage } from "./carrier-page.js";
import { forwardingRouter, type OnTimings } from "./forwarding.js";

export type { Trust } from "./assets.js";

/** Options of `serveStudio`. */
export interface ServeStudioOptions {
  /** The connection to the server that is shown. It stays the caller's, who closes it. */
  readonly connection: Connection;
  /** The server's URL, as the page shows it. */
  readonly target: string;
  /**
   * The page connects to the target by itself, which has to be `https://` and to allow the page's origin; then it shows its own network. Certificates
   * with one of these hashes, in hex, are trusted. Default: this process carries the calls.
   */
  readonly direct?: { readonly certificateHashes?: readonly string[] };
  /**
   * Tells what the server serves in place of its own reflection, such as `createReflection` of routers that are made of the same schemas. Default: the
   * server's own.
   */
  readonly reflection?: Router;
  /** How `connection` trusts the server, for the calls that a page copies. Default: as everybody does. */
  readonly trust?: Trust;
  /** The port on loopback. Default: any that is free. */
  readonly port?: number;
}

/** A studio that is being served. */
export interface RunningStudio {
  /** The page's URL. Whoever has it may make calls through this process: its token is made anew each time. */
  readonly url: string;
  /**
   * Has other reflection tell what the server serves, of a studio that was given one: pages load it anew, and calls in progress go on.
   */
  describeBy(reflection: Router): void;
  close(): Promise<void>;
}

/** Pages at once. */
const MAX_PAGES = 16;
/** Bytes of a message of a WebSocket; a longer one ends its session. */
const MAX_MESSAGE = 1024 * 1024;
/** Milliseconds that calls in progress have when a page gets another model. */
const DRAIN_MS = 600_000;

/**
 * Serves the studio's page on 127.0.0.1, and carries its calls to `connection`. A page of another origin cannot use it: requests have to name
 * this address as their host, sessions also as their origin, and have the token of the URL.
 */
export async function serveStudio({
  connection,
  target,
  direct,
  reflection: first,
  trust,
  port = 0,
}: ServeStudioOptions): Promise<RunningStudio> {
  let reflection = first;
  let model = 0;
  const token = randomBytes(24).toString("base64url");
  const sessions = new Set<Session>();
  /** Those that describe the server as it is described now. */
  const current = new Map<Session, CarrierPage>();
  const sockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_MESSAGE,
  });
  const network = `the network of ${hostname()}, where the command runs`;
  const settings: PageSettings = {
    title: "quicrpc studio",
    route: direct === undefined ? { via: "process" } : { via: "connect", url: target, ...direct },
    ...(first !== undefined && { describedBy: "process" }),
    ...(trust !== undefined && { trust }),
    script: "/app.js",
    style: "/app.css",
    connectTo: originsOf(direct && target),
  };
  let pages = 0;
  let hosts: readonly string[] = [];

  const server = createServer((request, response) => {
    void answer(request, response, hosts, settings).catch(() => response.destroy());
  });
  server.on("upgrade", (request, socket, head) => {
    const status = pages >= MAX_PAGES ? 503 : refusal(request, hosts, token);
    if (status !== undefined) refuse(socket, status);
    else
      sockets.handleUpgrade(request, socket, head, (webSocket) => {
        void take(webSocket).catch(() => webSocket.terminate());
      });
  });
  const take = async (webSocket: Parameters<typeof webSocketTransport>[0]): Promise<void> => {
    pages++;
    let leave = (): void => {
      pages--;
      leave = () => {};
    };
    try {
      await serve(webSocket, () => leave());
    } finally {
      leave();
    }
  };
  const serve = async (webSocket: Parameters<typeof webSocketTransport>[0], leave: () => void): Promise<void> => {
    const its = model;
    const page = new CarrierPage(connection, { type: "target", url: target, network, model });
    const transport = webSocketTransport(webSocket, "server");
    const onTimings: OnTimings = (call, timings) => page.tell({ type: "timings", call, timings });
    const forwarding = await forwardingRouter(connection, onTimings, reflection);
    const session = createSession(transport, { routers: [page.router, forwarding], onError: () => {} });
    sessions.add(session);
    // Its place is free from then on: what is left of it are the calls that it had.
    void session.draining.then(leave);
    current.set(session, page);
    if (its !== model) renew(session, page);
    await session.closed;
    sessions.delete(session);
    current.delete(session);
  };
  /** Has a page make another session, for its next calls. */
  const renew = (session: Session, page: CarrierPage): void => {
    current.delete(session);
    session.drain({ timeoutMs: DRAIN_MS }).catch(() => {});
    page.end();
  };

  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  const { port: bound } = server.address() as AddressInfo;
  hosts = [`127.0.0.1:${bound}`, `localhost:${bound}`];
  return {
    url: `http://127.0.0.1:${bound}/#token=${token}`,
    describeBy(made) {
      reflection = made;
      model++;
      for (const [session, page] of current) renew(session, page);
    },
    async close() {
      await Promise.all([...sessions].map((session) => session.close()));
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

async function answer(
  { method, url, headers }: IncomingMessage,
  response: ServerResponse,
  hosts: readonly string[],
  settings: PageSettings,
): Promise<void> {
  // Any page can have a name of its own resolve to this address (DNS rebinding).
  if (!hosts.includes(headers.host ?? "")) return void response.writeHead(421).end();
  if (method !== "GET" && method !== "HEAD") return void response.writeHead(405, { allow: "GET, HEAD" }).end();
  const file = await fileOf(url, settings);
  if (file === undefined) return void response.writeHead(404).end();
  response
    .writeHead(200, { ...file.headers, "content-type": file.type })
    .end(method === "HEAD" ? undefined : file.body);
}

async function fileOf(path: string | undefined, settings: PageSettings): Promise<PageFile | undefined> {
  switch (path) {
    case "/":
      return pageDocument(settings);
    case "/app.js":
    case "/app.css":
      return pageFile(path.slice(1) as "app.js" | "app.css");
    default:
      return undefined;
  }
}

/** The HTTP status that refuses a session; undefined where it may begin. */
function refusal({ url = "", headers }: IncomingMessage, hosts: readonly string[], token: string): number | undefined {
  const { host = "", origin, "sec-websocket-protocol": offered = "" } = headers;
  if (!hosts.includes(host)) return 421;
  if (origin !== `http://${host}`) return 403;
  const [path, query = ""] = url.split("?", 2);
  if (path !== "/session") return 404;
  if (!isEqual(new URLSearchParams(query).get("token") ?? "", token)) return 403;
  return offered === WEBSOCKET_PROTOCOL ? undefined : 400;
}

function isEqual(given: string, token: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(token)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function refuse(socket: Duplex, status: number): void {
  socket.on("error", () => {});
  socket.end(`HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}
