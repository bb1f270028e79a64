import cluster from "node:cluster";
import { randomBytes } from "node:crypto";
import { devCertificate } from "@quicrpc/node";
import {
  connect,
  Endpoint,
  type ListenOptions,
  type QuicSession,
  WebTransport,
  type WebTransportOptions,
} from "@quicrpc/quic";
import { afterEach, beforeAll, beforeEach, expect, it, onTestFinished, vi } from "vitest";
import {
  echo,
  echoWebTransport,
  listenToKnown,
  openInPage,
  requestOverHttp3,
  sendDirectly,
  shareOnePort,
} from "./engine.js";

let tls: { readonly cert: string; readonly key: string };
let hash: Uint8Array<ArrayBuffer>;
const said: unknown[][] = [];
beforeAll(async () => {
  const { cert, key, hash: made } = await devCertificate();
  tls = { cert, key };
  hash = made.value;
});
beforeEach(() => {
  vi.spyOn(console, "log").mockImplementation((...line) => void said.push(line));
});
afterEach(() => {
  vi.restoreAllMocks();
  said.length = 0;
});

function listening(options: ListenOptions, onSession: (session: QuicSession) => void = () => {}): Endpoint {
  const server = Endpoint.bind({ host: "127.0.0.1" });
  onTestFinished(() => server.close());
  server.listen(options, onSession);
  return server;
}

async function echoed(session: QuicSession): Promise<void> {
  for await (const { readable, writable } of session.incomingBidirectionalStreams) {
    readable.pipeTo(writable).catch(() => {});
  }
}

const trust = (): object => ({ serverCertificateHashes: [{ algorithm: "sha-256", value: hash }] });

it("an echo over QUIC, and over WebTransport", async () => {
  await echo(tls, hash);
  await echoWebTransport(tls, hash);
  expect(said).toEqual([["hello over QUIC"], ["/chat", "chat.v1"], ["hello over HTTP/3"]]);
});

it("a request over HTTP/3", async () => {
  await requestOverHttp3(tls, hash);
  expect(said).toEqual([[200, [["content-type", "text/plain"]]], ["hello over HTTP/3"], [[["x-path", "/echo"]]]]);
});

it("a stream by the direct interface", async () => {
  const server = listening({ alpn: ["echo"], tls }, (session) => void echoed(session));
  const session = await connect({ host: "127.0.0.1", port: server.address.port, alpn: ["echo"], tls: trust() });
  expect(sendDirectly(session, new Uint8Array(5))).toBe(true);
  await vi.waitUntil(() => said.length === 2);
  expect(said).toEqual([[5], ["the peer sent FIN"]]);
  session.close();
});

it("a page has the same class, without a package", async () => {
  const { address } = listening({ tls, webTransport: {} }, (session) => void echoed(session));
  class AtServer extends WebTransport {
    constructor(url: string, options: WebTransportOptions) {
      super(url.replace("example.com:4433", `127.0.0.1:${address.port}`), options);
    }
  }
  vi.stubGlobal("WebTransport", AtServer);
  const { readable, writable } = await openInPage(hash);
  const writer = writable.getWriter();
  await writer.write(new TextEncoder().encode("hello"));
  await writer.close();
  expect(new TextDecoder().decode((await readable.getReader().read()).value)).toBe("hello");
  vi.unstubAllGlobals();
});

it("a server knows its clients by their certificates, and refuses others", async () => {
  const server = Endpoint.bind({ host: "127.0.0.1" });
  onTestFinished(() => server.close());
  const warn = vi.spyOn(console, "warn").mockReturnValue();
  listenToKnown(server, [tls, tls, tls], tls.cert);
  const { port } = server.address;
  const dialled = connect({ host: "127.0.0.1", port, alpn: ["echo"], tls: trust() });
  await dialled.then((session) => session.closed).catch(() => {});
  await vi.waitUntil(() => warn.mock.calls.length > 0);
  expect(warn.mock.calls[0]?.[0]).toMatch(/^ERR_QUIC_/);
});

it("processes share one port: the primary forks, and the others listen", async () => {
  const fork = vi.spyOn(cluster, "fork").mockReturnValue({} as never);
  const bind = Endpoint.bind.bind(Endpoint);
  let server: Endpoint | undefined;
  vi.spyOn(Endpoint, "bind").mockImplementation((options) => {
    server = bind({ ...options, host: "127.0.0.1", port: 0 });
    onTestFinished(() => server?.close());
    return server;
  });
  const share = (serve: (session: QuicSession) => void): void =>
    shareOnePort(randomBytes(32), { tls, ticketKeys: [randomBytes(32)] }, serve);
  share(() => {});
  expect(fork).toHaveBeenCalledTimes(4);
  expect(server).toBeUndefined();
  cluster.removeAllListeners("exit");

  Object.assign(cluster, { isPrimary: false });
  onTestFinished(() => void Object.assign(cluster, { isPrimary: true }));
  const serve = vi.fn<(session: QuicSession) => void>();
  share(serve);
  const port = server?.address.port ?? 0;
  const session = await connect({ host: "127.0.0.1", port, alpn: ["echo"], tls: trust() });
  await vi.waitUntil(() => serve.mock.calls.length === 1);
  session.close();
});
