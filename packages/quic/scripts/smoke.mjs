// Loads the engine and calls over it: QUIC and WebTransport, one message and megabytes, by both drivers. It needs nothing but
// built packages, so that it runs where the tests cannot be installed, such as under an emulator.
import { createHash, X509Certificate } from "node:crypto";
import { devCertificate } from "../../node/dist/index.js";
import { Endpoint } from "../dist/index.js";

const ALPN = ["smoke/1"];
const BYTES = 2 << 20;
const nothing = { onStream() {}, onClosed() {} };
const quiet = { onData() {}, onEnd() {}, onReset() {}, onStopSending() {}, onDrain() {}, onClosed() {} };
const { cert, key } = await devCertificate();
const value = createHash("sha256").update(new X509Certificate(cert).raw).digest();
const tls = { serverCertificateHashes: [{ algorithm: "sha-256", value }] };

/** Answers each stream with the bytes that came on it. */
function echo(session) {
  const onStream = (stream) =>
    stream.attach({
      ...quiet,
      onData: (chunk) => void (stream.write(chunk) || stream.pause()),
      onDrain: () => stream.resume(),
      onEnd: () => stream.write(new Uint8Array(0), true),
    });
  session.attach({ ...nothing, onStream });
}

/** Resolves to the number of bytes that come back. */
function exchange(session, bytes) {
  return new Promise((resolve, reject) => {
    const stream = session.openStream();
    let received = 0;
    const onReset = (error) => reject(error ?? new Error("the stream was reset"));
    stream.attach({ ...quiet, onReset, onData: (chunk) => (received += chunk.length), onEnd: () => resolve(received) });
    stream.write(bytes, true);
  });
}

async function round(driver) {
  const server = Endpoint.bind({ host: "127.0.0.1", driver });
  server.listen({ alpn: ALPN, tls: { cert, key } }, echo);
  const client = Endpoint.bind({ host: "127.0.0.1", driver });
  const session = await client.connect({ host: "127.0.0.1", port: server.address.port, alpn: ALPN, tls });
  session.attach(nothing);
  for (const bytes of [1, 1, 1, BYTES]) {
    const received = await exchange(session, new Uint8Array(bytes));
    if (received !== bytes) throw new Error(`${driver}: ${received} of ${bytes} bytes came back`);
  }
  await client.close();
  await server.close();
  return server.driver;
}

const drivers = process.platform === "win32" || process.versions.bun ? ["thread"] : ["loop", "thread"];
const used = [];
for (const driver of drivers) used.push(await round(driver));
console.log(`${process.platform}-${process.arch}, Node ${process.versions.node}: ${used.join(" and ")} driver ok`);
