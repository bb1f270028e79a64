import type { Session } from "@quicrpc/core";
import { createRouter } from "@quicrpc/core/generated";
import { failsTransport, http2Transport } from "@quicrpc/fails-components";
import { dial, type DialOptions, serve, type ServeOptions, type Server } from "@quicrpc/node";
import { beforeAll, describe, expect, it } from "vitest";
import { certificate, type TestCertificate } from "../../packages/quic/test/certificates.js";
import { methods } from "../behaviour/service.js";
import { closedAfterEach } from "../open.js";

const { echo } = methods;
const router = createRouter({ echo }, { echo: (_, { connection }) => ({ text: String(connection) }) });

/** Where each kind of listener listens, and how clients reach it. */
const KINDS: readonly [
  kind: string,
  server: Partial<ServeOptions>,
  client: (port: number) => readonly [string, DialOptions?],
][] = [
  ["quic", { listen: ["quic://127.0.0.1:0"] }, (port) => [`quic://127.0.0.1:${port}`]],
  ["https", { listen: ["https://127.0.0.1:0/rpc"] }, (port) => [`https://127.0.0.1:${port}/rpc`]],
  ["tls", { listen: ["tls://127.0.0.1:0"] }, (port) => [`tls://127.0.0.1:${port}`]],
  ["wss", { listen: ["wss://127.0.0.1:0/rpc"] }, (port) => [`wss://127.0.0.1:${port}/rpc`]],
  [
    "a WebSocket beside https",
    { listen: ["https://127.0.0.1:0/rpc"], webSocket: true },
    (port) => [`wss://127.0.0.1:${port}/rpc`],
  ],
  [
    "HTTP/2 beside https",
    { listen: ["https://127.0.0.1:0/rpc"], advanced: { transports: [http2Transport()] } },
    (port) => [`https://127.0.0.1:${port}/rpc`, { advanced: { transports: [failsTransport()] } }],
  ],
];

it("server.updateTls leaves every listener as it was where one cannot use the new certificate", async () => {
  // Node takes keys on this curve, the QUIC engine does not.
  const keyAlgorithm = { name: "ECDSA", namedCurve: "P-521", hash: "SHA-512" };
  const [before, after] = [await certificate(), await certificate({ keyAlgorithm })];
  const server = await serve({
    listen: ["tls://127.0.0.1:0", "quic://127.0.0.1:0"],
    tls: { cert: before.cert, key: before.key },
    routers: [router],
  });
  expect(() => server.updateTls({ tls: { cert: after.cert, key: after.key } })).toThrow(/key/);
  const hashes = [{ algorithm: "sha-256" as const, value: before.hash as Uint8Array<ArrayBuffer> }];
  for (const url of server.urls) {
    const session = await dial(url, { serverCertificateHashes: hashes });
    expect(await session.unary(echo, { text: "" })).toEqual({ text: "undefined" });
    await session.close();
  }
  await server.close();
});

describe.each(KINDS)("server.updateTls: %s", (kind, options, client) => {
  const open = closedAfterEach();
  let before: TestCertificate;
  let after: TestCertificate;
  beforeAll(async () => {
    before = await certificate();
    after = await certificate();
  });

  async function served(more: Partial<ServeOptions> = {}): Promise<Server> {
    const { cert, key } = before;
    const server = await serve({
      tls: { cert, key },
      routers: [router],
      ...options,
      ...more,
      advanced: { ...options.advanced, ...more.advanced },
    });
    open.push(server);
    return server;
  }

  async function dialled({ address }: Server, given: DialOptions): Promise<Session> {
    const [url, more] = client(address.port);
    const session = await dial(url, {
      ...more,
      timeoutMs: 5000,
      ...given,
      advanced: { ...more?.advanced, ...given.advanced },
    });
    open.push(session);
    return session;
  }

  const trusting = ({ hash }: TestCertificate): DialOptions => ({
    serverCertificateHashes: [{ algorithm: "sha-256", value: hash as Uint8Array<ArrayBuffer> }],
  });
  const identity = ({ cert, key }: TestCertificate): { cert: string; key: string } => ({ cert, key });

  it("presents the new certificate to new sessions; those that live stay", async () => {
    const server = await served();
    const session = await dialled(server, trusting(before));
    server.updateTls({ tls: identity(after) });
    expect(await session.unary(echo, { text: "" })).toEqual({ text: "undefined" });
    await expect(dialled(server, trusting(before))).rejects.toThrow(/certificate/i);
    const renewed = await dialled(server, trusting(after));
    expect(await renewed.unary(echo, { text: "" })).toEqual({ text: "undefined" });
    expect(server.sessions.size).toBe(2);
  });

  it("keeps the old certificate where the new one cannot be used", async () => {
    const server = await served();
    const broken = [
      { tls: { cert: "no certificate", key: "no key" } },
      { tls: { cert: after.cert, key: before.key } },
      { tls: [] },
    ];
    for (const update of broken) expect(() => server.updateTls(update)).toThrow(/./);
    const session = await dialled(server, trusting(before));
    expect(await session.unary(echo, { text: "" })).toEqual({ text: "undefined" });
  });

  it("throws once the server is closed", async () => {
    const server = await served();
    await server.close();
    expect(() => server.updateTls({ tls: identity(after) })).toThrow(/closed/);
  });

  // Clients of failsTransport() neither name a server of their own choice nor have certificates.
  if (kind === "HTTP/2 beside https") return;

  describe("by name, and with clients' certificates", () => {
    let authority: TestCertificate;
    beforeAll(async () => {
      authority = await certificate({ ca: true });
    });

    it("takes several certificates where there was one", async () => {
      const server = await served();
      const [one, two] = await Promise.all(
        ["one.test", "two.test"].map((name) => certificate({ issuer: authority, names: [name] })),
      );
      server.updateTls({ tls: [one, two].map((each) => identity(each as TestCertificate)) });
      for (const serverName of ["one.test", "two.test"]) {
        const session = await dialled(server, { ca: authority.cert, advanced: { serverName } });
        expect(await session.unary(echo, { text: "" })).toEqual({ text: "undefined" });
      }
    });

    it("takes other authorities of clients' certificates", async () => {
      const [own, alice, other] = await Promise.all([
        certificate({ issuer: authority }),
        certificate({ issuer: authority, names: ["alice.example"] }),
        certificate({ ca: true, names: ["other authority"] }),
      ]);
      const server = await served({
        authenticate: ({ certificate: shown }) => shown?.subject,
        advanced: { clientCertificates: { ca: other.cert } },
      });
      server.updateTls({ tls: [own, after].map(identity), clientCertificates: { ca: authority.cert } });
      const session = await dialled(server, {
        ca: authority.cert,
        ...identity(alice),
        advanced: { serverName: "localhost" },
      });
      expect(await session.unary(echo, { text: "" })).toEqual({ text: "CN=alice.example" });
    });

    it("cannot begin to ask clients for certificates", async () => {
      const server = await served();
      expect(() => server.updateTls({ clientCertificates: { ca: authority.cert } })).toThrow(/clientCertificates/);
    });
  });
});
