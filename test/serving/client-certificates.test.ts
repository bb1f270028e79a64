// Mutual TLS over every listener that has TLS: who comes back with a ticket is judged like who comes for the first time.
import { randomBytes } from "node:crypto";
import { type EventEmitter, once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from "node:tls";
import { createRouter } from "@quicrpc/core/generated";
import { failsTransport } from "@quicrpc/fails-components";
import { type Peer, serve, type ServeOptions } from "@quicrpc/node";
import { beforeAll, describe, expect, it } from "vitest";
import { certificate, type TestCertificate } from "../../packages/quic/test/certificates.js";
import { methods } from "../behaviour/service.js";
import { closedAfterEach } from "../open.js";

let authority: TestCertificate;
let other: TestCertificate;
let own: TestCertificate;
let alice: TestCertificate;
let mallory: TestCertificate;

beforeAll(async () => {
  authority = await certificate({ ca: true });
  other = await certificate({ ca: true, names: ["other authority"] });
  own = await certificate();
  alice = await certificate({ issuer: authority, names: ["alice.example"] });
  mallory = await certificate({ issuer: other, names: ["mallory.example"] });
});

const open = closedAfterEach();

const router = createRouter({ echo: methods.echo }, { echo: (input) => input });

/** Asks for a session on a connection whose handshake is complete. Fulfils at the server's first bytes, which tickets precede. */
type Ask = (socket: TLSSocket) => Promise<unknown>;

/** Fulfils at the first of several events. */
function first(emitter: EventEmitter, ...events: string[]): Promise<void> {
  return new Promise((resolve) => {
    for (const event of events) emitter.once(event, () => resolve());
  });
}

const say =
  (bytes: string | Buffer): Ask =>
  (socket) => {
    socket.write(bytes);
    return first(socket, "data", "close");
  };

const key = randomBytes(16).toString("base64");
const askWebSocket = (protocol: string): Ask =>
  say(
    `GET /rpc HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n` +
      `Sec-WebSocket-Key: ${key}\r\nSec-WebSocket-Protocol: ${protocol}\r\n\r\n`,
  );

const KINDS: [name: string, alpn: string, options: Partial<ServeOptions>, ask: Ask][] = [
  ["tls://", "quicrpc/1", { listen: ["tls://127.0.0.1:0"] }, say(Buffer.from("024003000001", "hex"))],
  ["wss://", "http/1.1", { listen: ["wss://127.0.0.1:0/rpc"] }, askWebSocket("quicrpc.v1")],
  [
    "WebTransport over HTTP/2",
    "h2",
    { listen: ["https://127.0.0.1:0/rpc"], advanced: { transports: [failsTransport()] } },
    (socket) => {
      const session = connectHttp2("https://localhost", { createConnection: () => socket });
      session.on("error", () => {});
      const stream = session.request(
        {
          ":method": "CONNECT",
          ":protocol": "webtransport",
          ":scheme": "https",
          ":path": "/rpc",
          "wt-available-protocols": '"quicrpc.v1.stream"',
        },
        { endStream: false },
      );
      stream.on("error", () => {});
      return first(stream, "response", "close");
    },
  ],
  [
    "the ponyfill's WebSocket",
    "http/1.1",
    { listen: ["https://127.0.0.1:0/rpc"], advanced: { transports: [failsTransport()] } },
    askWebSocket("webtransport_kDraft2_quicrpc.v1.stream"),
  ],
];

/** The server's decision about one connection. */
type Verdict = { admitted: string | undefined } | { refused: string };

describe.each(KINDS)("client certificates over %s", (_, alpn, listening, ask) => {
  async function guarded(
    options: Partial<ServeOptions> = {},
  ): Promise<(tls: ConnectionOptions) => Promise<{ verdict: Verdict; ticket: Buffer | undefined; socket: TLSSocket }>> {
    let decide: (verdict: Verdict) => void = () => {};
    const server = await serve({
      ...listening,
      tls: { cert: own.cert, key: own.key },
      routers: [router],
      ...options,
      advanced: {
        ...listening.advanced,
        clientCertificates: { ca: authority.cert },
        onSession: (_, { certificate }: Peer) => decide({ admitted: certificate?.subject }),
        onRefused: ({ code, message }) => decide({ refused: `${code}: ${message}` }),
        ...options.advanced,
      },
    });
    open.push(server);
    return async (tls) => {
      const verdict = new Promise<Verdict>((resolve) => (decide = resolve));
      const socket = connectTls({
        port: server.address.port,
        host: "127.0.0.1",
        rejectUnauthorized: false,
        ALPNProtocols: [alpn],
        minVersion: "TLSv1.3",
        ...tls,
      });
      open.push({ close: () => socket.destroy() });
      socket.on("error", () => {});
      let ticket: Buffer | undefined;
      socket.on("session", (session) => (ticket = session));
      await once(socket, "secureConnect");
      const [decided] = await Promise.all([verdict, ask(socket)]);
      return { verdict: decided, ticket, socket };
    };
  }

  const identity = ({ cert, key }: TestCertificate): ConnectionOptions => ({ cert, key });

  it("a client that was refused for want of one is refused again when it comes back with a ticket", async () => {
    const knock = await guarded();
    const first = await knock({});
    expect(first.verdict).toEqual({ refused: "unauthenticated: a client certificate is required" });
    const second = await knock(first.ticket === undefined ? {} : { session: first.ticket });
    expect(second.verdict).toEqual(first.verdict);
  });

  it("so is one whose certificate does not hold", async () => {
    const knock = await guarded();
    const first = await knock(identity(mallory));
    expect(first.verdict).toMatchObject({ refused: expect.stringContaining("is not accepted") });
    const second = await knock({ ...identity(mallory), ...(first.ticket && { session: first.ticket }) });
    expect(second.verdict).toEqual(first.verdict);
  });

  it("one that was let in proves anew who it is: no ticket stands for a certificate", async () => {
    const knock = await guarded();
    const first = await knock(identity(alice));
    expect(first.verdict).toEqual({ admitted: "CN=alice.example" });
    const without = await knock(first.ticket === undefined ? {} : { session: first.ticket });
    expect(without.verdict).toEqual({ refused: "unauthenticated: a client certificate is required" });
    expect(without.socket.isSessionReused()).toBe(false);
    const again = await knock({ ...identity(alice), ...(first.ticket && { session: first.ticket }) });
    expect(again.verdict).toEqual(first.verdict);
    expect(again.socket.isSessionReused()).toBe(false);
  });

  it("where none is required, one without has no identity, the second time as well", async () => {
    const knock = await guarded({ advanced: { clientCertificates: { ca: authority.cert, required: false } } });
    const first = await knock({});
    expect(first.verdict).toEqual({ admitted: undefined });
    const second = await knock(first.ticket === undefined ? {} : { session: first.ticket });
    expect(second.verdict).toEqual({ admitted: undefined });
  });

  it("the authorities are the same for every name that the server has", async () => {
    const named = await certificate({ names: ["second.example"] });
    const knock = await guarded({
      tls: [
        { cert: own.cert, key: own.key },
        { cert: named.cert, key: named.key },
      ],
    });
    for (const servername of ["localhost", "second.example", "unknown.example"]) {
      const admitted = await knock({ ...identity(alice), servername });
      expect(admitted.verdict).toEqual({ admitted: "CN=alice.example" });
      const refused = await knock({ ...identity(mallory), servername });
      expect(refused.verdict).toMatchObject({ refused: expect.stringContaining("is not accepted") });
      const none = await knock({ servername });
      expect(none.verdict).toMatchObject({ refused: expect.stringContaining("is required") });
    }
  });
});
