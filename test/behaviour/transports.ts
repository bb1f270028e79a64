import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { createServer as createHttpServer, type IncomingMessage } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, connect, createServer, type ListenOptions, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls, createServer as createTlsServer } from "node:tls";
import { MessageChannel } from "node:worker_threads";
import { DEFAULT_LIMITS } from "@quicrpc/core";
import { PageGuard } from "@quicrpc/core/internal";
import {
  createMemoryPair,
  type DirectSession,
  messagePortTransport,
  WEBSOCKET_PROTOCOL,
  webSocketTransport,
  webStreamTransport,
  type WebTransportSession,
} from "@quicrpc/core/transport";
import { failsTransport } from "@quicrpc/fails-components";
import { devCertificate, nodeStreamTransport } from "@quicrpc/node";
import type { Listener } from "@quicrpc/node/transport";
import { Endpoint, type QuicSession } from "@quicrpc/quic";
import { expect } from "vitest";
import { WebSocket } from "ws";
import { dialWebSocket } from "../../packages/node/src/dial/web-socket.js";
import { acceptHandshake } from "../../packages/node/src/web-socket/handshake.js";
import { webSocketOn } from "../../packages/node/src/web-socket/transport.js";

/** Both ends of a transport session on which nothing was sent yet. */
interface Joined<S extends DirectSession = DirectSession> {
  readonly client: S;
  readonly server: S;
  /** Releases what made them, after both have ended. */
  readonly release: () => Promise<void>;
}

export type Join<S extends DirectSession = DirectSession> = (options?: {
  readonly maxStreams?: number;
}) => Promise<Joined<S>>;

const HOST = "127.0.0.1";
const nothing = async (): Promise<void> => {};

export const joinMemory: Join = async () => {
  const [client, server] = createMemoryPair();
  return { client, server, release: nothing };
};

/** Over one UDP port for each end. */
export function joinQuic(protocol: "raw" | "webTransport", driver: "loop" | "thread"): Join<QuicSession> {
  return async ({ maxStreams } = {}) => {
    const { cert, key, hash } = await devCertificate();
    const [listener, dialler] = [0, 1].map(() => Endpoint.bind({ host: HOST, port: 0, driver })) as [
      Endpoint,
      Endpoint,
    ];
    const { port } = listener.address;
    const shared = {
      tls: { cert, key },
      ...(maxStreams !== undefined && { transport: { maxStreams } }),
    };
    const tls = { serverCertificateHashes: [hash] };
    const accepted = new Promise<QuicSession>((resolve) => {
      listener.listen({ ...shared, ...(protocol === "raw" ? { alpn: ["test"] } : { webTransport: {} }) }, resolve);
    });
    const client =
      protocol === "raw"
        ? await dialler.connect({ host: HOST, port, serverName: "localhost", alpn: ["test"], tls })
        : await dialler.connectWebTransport(`https://${HOST}:${port}/`, { tls });
    const release = async (): Promise<void> => void (await Promise.all([dialler.close(), listener.close()]));
    return { client, server: await accepted, release };
  };
}

export const joinMessagePort: Join = async () => {
  const { port1, port2 } = new MessageChannel();
  return {
    client: messagePortTransport(port1, "client"),
    server: messagePortTransport(port2, "server"),
    release: nothing,
  };
};

export const joinWebStreams: Join = async () => {
  const there = new TransformStream<Uint8Array, Uint8Array>();
  const back = new TransformStream<Uint8Array, Uint8Array>();
  return {
    client: webStreamTransport({ readable: back.readable, writable: there.writable }, "client"),
    server: webStreamTransport({ readable: there.readable, writable: back.writable }, "server"),
    release: nothing,
  };
};

export const joinTcp: Join = () =>
  joinSockets(createServer(), { port: 0, host: HOST }, "connection", ({ port }) => connect(port, HOST));

export const joinUnix: Join = () => {
  const path = join(mkdtempSync(join(tmpdir(), "quicrpc-")), "socket");
  return joinSockets(createServer(), { path }, "connection", () => connect(path));
};

export const joinTls: Join = async () => {
  const server = createTlsServer(await devCertificate());
  const dial = ({ port }: AddressInfo): Socket => connectTls({ port, host: HOST, rejectUnauthorized: false });
  return joinSockets(server, { port: 0, host: HOST }, "secureConnection", dial);
};

async function joinSockets(
  listener: Server,
  where: ListenOptions,
  event: "connection" | "secureConnection",
  dial: (address: AddressInfo) => Socket,
): Promise<Joined> {
  await once(listener.listen(where), "listening");
  const accepted = once(listener, event) as Promise<[Socket]>;
  const client = dial(listener.address() as AddressInfo);
  const [server] = await accepted;
  listener.close();
  return {
    client: nodeStreamTransport({ readable: client, writable: client }, "client"),
    server: nodeStreamTransport({ readable: server, writable: server }, "server"),
    release: nothing,
  };
}

/**
 * Joins a client with Node's server. Over `ws:` the client is that of pages, on the ws package; over `wss:` Node's own.
 */
export function joinWebSocket(scheme: "ws" | "wss"): Join {
  return async () => {
    const { cert, key, hash } = await devCertificate();
    const http = scheme === "ws" ? createHttpServer() : createHttpsServer({ cert, key });
    await once(http.listen(0, HOST), "listening");
    const accepted = once(http, "upgrade") as Promise<[IncomingMessage]>;
    const { port } = http.address() as AddressInfo;
    const url = new URL(`${scheme}://${HOST}:${port}/`);
    const client =
      scheme === "wss"
        ? dialWebSocket(url, { serverCertificateHashes: [hash] })
        : // Before it opens: messages may come at once.
          webSocketTransport(new WebSocket(url, WEBSOCKET_PROTOCOL), "client");
    const [request] = await accepted;
    acceptHandshake(request);
    const server = webSocketOn(request.socket, "server", {});
    http.close();
    return { client: await client, server, release: nothing };
  };
}

/** Over HTTP/2, by `@fails-components/webtransport`. */
export const joinFails: Join = async () => {
  const { cert, key, hash } = await devCertificate();
  let onServer!: (session: DirectSession) => void;
  const server = new Promise<DirectSession>((resolve) => (onServer = resolve));
  const onError = (error: unknown): void => expect.unreachable(String(error));
  const settings = {
    tls: { cert, key },
    clientCertificates: undefined,
    earlyData: false,
    secret: undefined,
    connectionIds: undefined,
    pages: new PageGuard({
      allowedOrigins: undefined,
      allowedHosts: undefined,
      onError,
      optionsOf: "serve",
      warn() {},
    }),
    onError,
    transport: undefined,
    trustedProxies: undefined,
    limits: DEFAULT_LIMITS,
    web: { webSocket: false, protocols: [] },
    methods: [],
    engineOptional: false,
    ticketKeys: [],
  };
  const { listen, dial } = failsTransport();
  const listeners = await listen?.({ host: HOST, port: 0, path: "/" }, settings, ({ transport, pending }) => {
    pending.admit();
    onServer(transport as DirectSession);
  });
  const [listener] = listeners as [Listener];
  const client = await dial?.(new URL(listener.url), { serverCertificateHashes: [hash] });
  return { client: client as DirectSession, server: await server, release: () => listener.close() };
};

/** Only what the W3C interface has, so that core drives the session through WHATWG streams. */
export function webFace(transport: DirectSession): WebTransportSession {
  const session = transport as QuicSession;
  return {
    ready: session.ready,
    closed: session.closed,
    close: (info) => session.close(info),
    createBidirectionalStream: () => session.createBidirectionalStream(),
    createUnidirectionalStream: () => session.createUnidirectionalStream(),
    incomingBidirectionalStreams: session.incomingBidirectionalStreams,
  };
}
