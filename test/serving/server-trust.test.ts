// What a dial sends to a server that it does not trust, over every transport with TLS: nothing of its request.
import { once } from "node:events";
import { createSecureServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { createServer, type TLSSocket } from "node:tls";
import { failsTransport } from "@quicrpc/fails-components";
import { dial, type DialOptions } from "@quicrpc/node";
import { Endpoint } from "@quicrpc/quic";
import { beforeAll, describe, expect, it } from "vitest";
import { certificate, type TestCertificate } from "../../packages/quic/test/certificates.js";
import { closedAfterEach } from "../open.js";

let own: TestCertificate;
let other: TestCertificate;
let expired: TestCertificate;
let misnamed: TestCertificate;
let authority: TestCertificate;
let longLived: TestCertificate;
let otherKey: TestCertificate;

beforeAll(async () => {
  authority = await certificate({ ca: true });
  own = await certificate();
  other = await certificate();
  expired = await certificate({ from: Date.now() - 20 * 24 * 3_600_000, days: 10 });
  longLived = await certificate({ days: 30 });
  otherKey = await certificate({ keyAlgorithm: { name: "ECDSA", namedCurve: "P-384", hash: "SHA-384" } });
  misnamed = await certificate({ names: ["elsewhere.example"], issuer: authority });
});

const open = closedAfterEach();

/** A server that answers nobody: its port, and what it has received, once its first connection has ended. */
interface Impostor {
  readonly port: number;
  readonly received: Promise<string[]>;
}

type Impersonate = (tls: { cert: string; key: string }) => Promise<Impostor>;

const listening = async (server: ReturnType<typeof createServer>): Promise<number> => {
  open.push(server);
  await once(server.listen(0, "127.0.0.1"), "listening");
  return (server.address() as AddressInfo).port;
};

const overTls =
  (alpn: string): Impersonate =>
  async (tls) => {
    const received: string[] = [];
    const server = createServer({ ...tls, ALPNProtocols: [alpn] });
    const ended = new Promise<string[]>((resolve) => {
      server.on("tlsClientError", () => resolve(received));
      server.on("secureConnection", (socket: TLSSocket) => {
        socket.on("error", () => {});
        socket.on("data", (bytes: Buffer) => received.push(bytes.toString("latin1")));
        socket.on("close", () => resolve(received));
      });
    });
    return { port: await listening(server), received: ended };
  };

const overHttp2: Impersonate = async (tls) => {
  const received: string[] = [];
  const server = createSecureServer({ ...tls, settings: { enableConnectProtocol: true } });
  const ended = new Promise<string[]>((resolve) => {
    server.on("tlsClientError", () => resolve(received));
    server.on("stream", (stream, headers) => {
      stream.on("error", () => {});
      received.push(JSON.stringify(headers));
    });
    server.on("session", (session) => {
      session.on("error", () => {});
      session.on("close", () => resolve(received));
    });
  });
  return { port: await listening(server), received: ended };
};

const overQuic =
  (alpn: string): Impersonate =>
  async (tls) => {
    const received: string[] = [];
    const endpoint = Endpoint.bind({ host: "127.0.0.1" });
    open.push(endpoint);
    const ended = new Promise<string[]>((resolve) => {
      endpoint.listen(
        {
          tls,
          ...(alpn === "h3"
            ? { webTransport: { onRequest: ({ headers }) => (received.push(JSON.stringify([...headers])), {}) } }
            : { alpn: [alpn] }),
          onHandshakeError: () => resolve(received),
        },
        () => received.push("a session"),
      );
    });
    return { port: endpoint.address.port, received: ended };
  };

const QUIC: [name: string, url: (port: number) => string, options: DialOptions, impersonate: Impersonate][] = [
  ["quic://", (port) => `quic://127.0.0.1:${port}`, {}, overQuic("quicrpc/1")],
  ["https://", (port) => `https://127.0.0.1:${port}/rpc`, {}, overQuic("h3")],
];

const KINDS: typeof QUIC = [
  ...(process.env["QUICRPC_NO_ENGINE"] === undefined ? QUIC : []),
  ["tls://", (port) => `tls://127.0.0.1:${port}`, {}, overTls("quicrpc/1")],
  ["wss://", (port) => `wss://127.0.0.1:${port}/rpc`, {}, overTls("http/1.1")],
  [
    "WebTransport over HTTP/2",
    (port) => `https://127.0.0.1:${port}/rpc`,
    { advanced: { transports: [failsTransport()] } },
    overHttp2,
  ],
];

const hashes = ({ hash }: TestCertificate): DialOptions => ({
  serverCertificateHashes: [{ algorithm: "sha-256", value: hash as Uint8Array<ArrayBuffer> }],
});

/** Returns what a server with this certificate receives of a dial that fails. */
async function heard(
  [, url, options, impersonate]: (typeof KINDS)[number],
  tls: TestCertificate,
  trust: DialOptions,
): Promise<string[]> {
  const { port, received } = await impersonate({ cert: tls.cert, key: tls.key });
  const request = /^(https|wss):/.test(url(port)) ? { advanced: { headers: { authorization: "Bearer secret" } } } : {};
  await expect(
    dial(url(port), {
      ...request,
      ...options,
      ...trust,
      advanced: { ...request.advanced, ...options.advanced, ...trust.advanced },
    }),
  ).rejects.toBeInstanceOf(Error);
  return received;
}

describe.each(KINDS)("a server that is not trusted, dialled by %s", (...kind) => {
  it("because of its hash, gets nothing of the request", async () => {
    expect(await heard(kind, other, hashes(own))).toEqual([]);
  });

  it("because it has expired, gets nothing of the request", async () => {
    expect(await heard(kind, expired, hashes(expired))).toEqual([]);
  });

  it.each(["for longer than 14 days", "with another key"])("because it is valid %s, gets nothing", async (which) => {
    const tls = which === "with another key" ? otherKey : longLived;
    expect(await heard(kind, tls, hashes(tls))).toEqual([]);
  });

  it("because nobody vouches for it, gets nothing of the request", async () => {
    expect(await heard(kind, other, {})).toEqual([]);
  });
});

// failsTransport() takes no authorities but the system's.
describe.each(KINDS.filter(([, , { advanced }]) => advanced === undefined))("by %s", (...kind) => {
  it("one with another name gets nothing of the request", async () => {
    expect(await heard(kind, misnamed, { ca: authority.cert })).toEqual([]);
  });
});
