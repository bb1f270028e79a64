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
  /** Connection to the server to show. `serveStudio` does not close it. */
  readonly connection: Connection;
  /** URL of the server, as the page shows it. */
  readonly target: string;
  /**
   * If set, the page connects to the server directly, and shows its own network. `target` must then be an `https://`
   * URL, and the server must allow the page's origin. `certificateHashes` are SHA-256 hashes of trusted certificates,
   * in hexadecimal. Default: this process carries the calls.
   */
  readonly direct?: { readonly certificateHashes?: readonly string[] };
  /**
   * Reflection service that describes the server's services, for example `createReflection` of routers made from the
   * same schemas. Default: the server's own reflection.
   */
  readonly reflection?: Router;
  /**
   * How `connection` trusts the server. The page uses this for calls that are copied as commands. Default: the system's
   * root certificates.
   */
  readonly trust?: Trust;
  /** Port to listen on, on the loopback interface. Default: a free port. */
  readonly port?: number;
}

/** A studio that `serveStudio` has started. */
export interface RunningStudio {
  /**
   * URL of the page. It contains a new secret token for each studio. Anyone who knows the URL can make calls through
   * this process.
   */
  readonly url: string;
  /** Replaces the option `reflection`. Pages load the descriptions again. Calls in progress continue. */
  describeBy(reflection: Router): void;
  close(): Promise<void>;
}

const MAX_PAGES = 16;
/** Maximum size of a WebSocket message in bytes. A larger message ends its session. */
const MAX_MESSAGE = 1024 * 1024;
/** Milliseconds for which calls may continue after their page has loaded new service descriptions. */
const DRAIN_MS = 600_000;

/**
 * Serves the studio's page on 127.0.0.1, and carries its calls to `connection`. Pages of other origins cannot use it:
 * requests must have this address in the header field `Host`, sessions also in `Origin`, and both need the token in the
 * URL.
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
  /** Sessions that use the current service descriptions, with their pages. */
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
    void respond(request, response, hosts, settings).catch(() => response.destroy());
  });
  server.on("upgrade", (request, socket, head) => {
    const status = pages >= MAX_PAGES ? 503 : refusal(request, hosts, token);
    if (status !== undefined) refuse(socket, status);
    else
      sockets.handleUpgrade(request, socket, head, (webSocket) => {
        void acceptPage(webSocket).catch(() => webSocket.terminate());
      });
  });
  const acceptPage = async (webSocket: Parameters<typeof webSocketTransport>[0]): Promise<void> => {
    pages++;
    let onPageEnd = (): void => {
      pages--;
      onPageEnd = () => {};
    };
    try {
      await serve(webSocket, () => onPageEnd());
    } finally {
      onPageEnd();
    }
  };
  const serve = async (webSocket: Parameters<typeof webSocketTransport>[0], onPageEnd: () => void): Promise<void> => {
    const its = model;
    const page = new CarrierPage(connection, { type: "target", url: target, network, model });
    const transport = webSocketTransport(webSocket, "server");
    const onTimings: OnTimings = (call, timings) => page.send({ type: "timings", call, timings });
    const forwarding = await forwardingRouter(connection, onTimings, reflection);
    const session = createSession(transport, { routers: [page.router, forwarding], onError: () => {} });
    sessions.add(session);
    // It no longer counts as a page; only its calls remain.
    void session.draining.then(onPageEnd);
    current.set(session, page);
    if (its !== model) renew(session, page);
    await session.closed;
    sessions.delete(session);
    current.delete(session);
  };
  /** Makes a page open a new session for its next calls. */
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
    describeBy(reflectionRouter) {
      reflection = reflectionRouter;
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

async function respond(
  { method, url, headers }: IncomingMessage,
  response: ServerResponse,
  hosts: readonly string[],
  settings: PageSettings,
): Promise<void> {
  // Any page can have its own name resolve to this address (DNS rebinding).
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

/** Returns the HTTP status with which a session is refused, or undefined to accept it. */
function refusal({ url = "", headers }: IncomingMessage, hosts: readonly string[], token: string): number | undefined {
  const { host = "", origin, "sec-websocket-protocol": offered = "" } = headers;
  if (!hosts.includes(host)) return 421;
  if (origin !== `http://${host}`) return 403;
  const [path, query = ""] = url.split("?", 2);
  if (path !== "/session") return 404;
  if (!isEqual(new URLSearchParams(query).get("token") ?? "", token)) return 403;
  return offered === WEBSOCKET_PROTOCOL ? undefined : 400;
}

function isEqual(candidate: string, token: string): boolean {
  const [a, b] = [Buffer.from(candidate), Buffer.from(token)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function refuse(socket: Duplex, status: number): void {
  socket.on("error", () => {});
  socket.end(`HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}
