// What callers over HTTP can make a server hold by answers that they do not read.
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { afterEach, it } from "vitest";
import { pause } from "./bytes.js";
import { devCertificate } from "@quicrpc/node";
import { connect as connectQuic } from "@quicrpc/quic";
import { control, headers } from "../../packages/quic/test/http3-bytes.js";
import { MIB, schemes, Victim, withstand } from "./harness.js";

const HOST = "127.0.0.1";
const PATH = "/test.v1.Victim/bytes";
const TYPE = "application/msgpack";
/** Asks for 3,000,000 bytes, in MessagePack. */
const BODY = Uint8Array.of(0xce, 0, 0x2d, 0xc6, 0xc0);
const CONNECTIONS = 300;
/** Connections that are opened at once. */
const BATCH = 20;
/** `maxServerBytes` is 96 MiB; garbage that is not collected yet, and the connections themselves, come on top. */
const PEAK = 320 * MIB;
const WINDOW = 2 ** 30;

let victim: Victim | undefined;
const open: { destroy(): unknown }[] = [];
function closeAll(): void {
  for (const one of open.splice(0)) one.destroy();
}
afterEach(async () => {
  closeAll();
  await victim?.stop();
});

function ask(socket: Socket): void {
  open.push(socket);
  socket.on("error", () => {});
  socket.pause();
  const head = `POST ${PATH} HTTP/1.1\r\nhost: ${HOST}\r\ncontent-type: ${TYPE}\r\ncontent-length: ${BODY.length}\r\n\r\n`;
  socket.write(Buffer.concat([Buffer.from(head), BODY]));
}

async function askByHttp2(port: number): Promise<void> {
  const socket = connectTls({ port, host: HOST, rejectUnauthorized: false, ALPNProtocols: ["h2"] });
  open.push(socket);
  socket.on("error", () => {});
  await once(socket, "secureConnect");
  const settings = { initialWindowSize: WINDOW };
  const client = connectHttp2(`https://${HOST}:${port}`, { createConnection: () => socket, settings });
  client.on("error", () => {});
  await once(client, "remoteSettings");
  client.setLocalWindowSize(WINDOW);
  const stream = client.request({ ":method": "POST", ":path": PATH, "content-type": TYPE });
  stream.on("error", () => {});
  // Nothing takes the pieces of its body.
  stream.end(BODY);
}

/** POST, HEADERS and DATA with the body. */
const HTTP3_REQUEST = Uint8Array.from([
  ...headers({ ":method": "POST", ":scheme": "https", ":authority": HOST, ":path": PATH, "content-type": TYPE }),
  0,
  BODY.length,
  ...BODY,
]);

/** The client acknowledges all packets, but reads nothing, so that its window stays full. */
async function askByHttp3(port: number): Promise<void> {
  const { hash } = await devCertificate();
  const session = await connectQuic({
    host: HOST,
    port,
    alpn: ["h3"],
    tls: { serverCertificateHashes: [hash] },
    transport: { streamReceiveWindow: 65_536, receiveWindow: 1_048_576 },
  });
  open.push({ destroy: () => session.close() });
  session.attach({ onStream() {}, onUniStream: (stream) => stream.pause(), onClosed() {} });
  session.openUniStream().write(Uint8Array.from(control({})));
  const stream = session.openStream();
  stream.pause();
  stream.write(HTTP3_REQUEST, true);
}

const ways: readonly (readonly [string, string, (port: number) => unknown])[] = [
  ["HTTP/1.1", "ws:", (port) => ask(connectTcp({ port, host: HOST }))],
  [
    "HTTP/1.1 over TLS",
    "wss:",
    (port) => ask(connectTls({ port, host: HOST, rejectUnauthorized: false, ALPNProtocols: ["http/1.1"] })),
  ],
  ["HTTP/2 over TLS", "wss:", askByHttp2],
  ...(schemes.includes("https:") ? [["HTTP/3", "https:", askByHttp3] as const] : []),
];

it.each(ways)("answers over %s that nobody reads, on hundreds of connections", async (_, scheme, attacker) => {
  const server = await Victim.start({ schemes: [scheme], http: true });
  victim = server;
  const port = Number(new URL(server.url(scheme)).port);
  const attack = async (): Promise<void> => {
    for (let count = 0; count < CONNECTIONS; count += BATCH) {
      await Promise.all(Array.from({ length: BATCH }, () => attacker(port)));
    }
    await pause(2000);
    closeAll();
    await pause(200);
  };
  await withstand(server, attack, { peak: PEAK, ...(scheme === "https:" && { cpu: 250 }) });
});
