// Echo over loopback in two processes, over raw QUIC and WebTransport in turn. Usage: node bench/echo.mjs [loop|thread] [only]
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import "reflect-metadata";
import { X509CertificateGenerator, SubjectAlternativeNameExtension } from "@peculiar/x509";
import { Endpoint } from "../dist/index.js";

const ALPN = ["echo"];
const [role = "auto", only = ""] = process.argv.slice(2);
const ROUNDS = Number(process.env.ROUNDS ?? 3);
let label = "";
/** CPU by measurement and session kind. */
const cost = new Map();

const median = (numbers) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1];

async function main() {
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    keys,
    name: "CN=localhost",
    notAfter: new Date(Date.now() + 864e5),
    signingAlgorithm: algorithm,
    extensions: [new SubjectAlternativeNameExtension([{ type: "dns", value: "localhost" }])],
  });
  const pkcs8 = Buffer.from(await crypto.subtle.exportKey("pkcs8", keys.privateKey)).toString("base64");
  const tls = {
    cert: certificate.toString("pem"),
    key: `-----BEGIN PRIVATE KEY-----\n${pkcs8}\n-----END PRIVATE KEY-----\n`,
  };
  const env = { ...process.env, BENCH_TLS: JSON.stringify(tls), ...(role === "auto" ? {} : { QUICRPC_DRIVER: role }) };
  Object.assign(process.env, env);
  const server = spawn(process.execPath, [import.meta.filename ?? new URL(import.meta.url).pathname, "serve"], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    env,
  });
  const port = await new Promise((resolve) => server.once("message", resolve));
  const endpoint = Endpoint.bind({ host: "127.0.0.1" });
  const value = await crypto.subtle.digest("SHA-256", certificate.rawData);
  const connect = () =>
    endpoint.connect({
      host: "127.0.0.1",
      port,
      alpn: ALPN,
      tls: { serverCertificateHashes: [{ algorithm: "sha-256", value }] },
    });
  const session = await connect();
  const web = await endpoint.connectWebTransport(`https://127.0.0.1:${port}/`, {
    tls: { serverCertificateHashes: [{ algorithm: "sha-256", value }] },
  });
  const sessions = { QUIC: session, WebTransport: web };
  console.log(`driver ${endpoint.driver}, node ${process.version}`);
  try {
    for (const [what, run] of Object.entries({ sequential, calls, frames, bulk })) {
      if (only && only !== what) continue;
      for (let round = 0; round < ROUNDS; round++) {
        for (const [name, each] of Object.entries(sessions)) {
          label = name;
          await run(each, server.pid);
        }
      }
    }
    for (const [name, costs] of cost) {
      const [raw, webTransport] = ["QUIC", "WebTransport"].map((label) => median(costs.get(label)));
      console.log(`${name.padEnd(32)} WebTransport costs ${(webTransport / raw).toFixed(3)} of the CPU of raw QUIC`);
    }
  } finally {
    server.kill();
    await endpoint.close();
  }
}

function cpuSeconds(pid) {
  if (process.platform !== "linux") return Number.NaN;
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

async function measure(name, count, serverPid, unit, run) {
  const cpu = () => cpuSeconds(process.pid) + cpuSeconds(serverPid);
  const [cpu0, t0] = [cpu(), performance.now()];
  await run();
  const seconds = (performance.now() - t0) / 1000;
  const rate = Math.round(count / seconds).toLocaleString("en");
  const each = (cpu() - cpu0) / count;
  if (!cost.has(name)) cost.set(name, new Map());
  cost.get(name).set(label, [...(cost.get(name).get(label) ?? []), each]);
  console.log(
    `${label.padEnd(13)} ${name.padEnd(32)} ${rate.padStart(12)} ${unit}/s   ${(each * 1e6).toFixed(3)} µs CPU each`,
  );
}

const handler = (onData, onEnd = () => {}, onDrain = () => {}) => ({
  onData,
  onEnd,
  onDrain,
  onReset() {},
  onStopSending() {},
  onClosed() {},
});

async function sequential(session, pid) {
  const stream = session.openStream();
  const bytes = new Uint8Array(32);
  let resolve;
  stream.attach(handler(() => resolve()));
  const roundTrip = () =>
    new Promise((done) => {
      resolve = done;
      stream.write(bytes);
    });
  for (let i = 0; i < 5000; i++) await roundTrip();
  await measure("sequential round trips", 60_000, pid, "", async () => {
    for (let i = 0; i < 60_000; i++) await roundTrip();
  });
}

async function calls(session, pid) {
  const bytes = new Uint8Array(32);
  const call = () =>
    new Promise((resolve) => {
      const stream = session.openStream();
      stream.attach(handler(() => {}, resolve));
      stream.write(bytes, true);
    });
  for (let i = 0; i < 5000; i++) await call();
  for (const [inFlight, count] of [
    [1, 30_000],
    [64, 300_000],
  ]) {
    await measure(`a stream per call, ${inFlight} in flight`, count, pid, "", async () => {
      let left = count;
      await Promise.all(
        Array.from({ length: inFlight }, async () => {
          while (left-- > 0) await call();
        }),
      );
    });
  }
}

async function frames(session, pid) {
  const FRAME = 32;
  const IN_FLIGHT = 512;
  const COUNT = 4_000_000;
  const stream = session.openStream();
  const zeros = new Uint8Array(IN_FLIGHT * FRAME * 4);
  let sent = IN_FLIGHT;
  let received = 0;
  let rest = 0;
  await measure(
    "32-byte frames, 512 in flight",
    COUNT,
    pid,
    "",
    () =>
      new Promise((done) => {
        stream.attach(
          handler((chunk) => {
            rest += chunk.length;
            const whole = Math.floor(rest / FRAME);
            rest -= whole * FRAME;
            received += whole;
            const more = Math.min(whole, COUNT - sent);
            sent += more;
            if (more > 0) stream.write(zeros.subarray(0, more * FRAME));
            if (received >= COUNT) done();
          }),
        );
        stream.write(zeros.subarray(0, IN_FLIGHT * FRAME));
      }),
  );
}

async function bulk(session, pid) {
  const CHUNK = new Uint8Array(65_536).fill(1);
  const CHUNKS = 16_000;
  const stream = session.openStream();
  await measure(
    "one way, GB",
    (CHUNKS * CHUNK.length) / 1e9,
    pid,
    "GB",
    () =>
      new Promise((done) => {
        let left = CHUNKS;
        const send = () => {
          while (left > 0) {
            left--;
            if (!stream.write(CHUNK, left === 0)) return;
          }
        };
        stream.attach(
          handler(
            () => done(),
            () => {},
            send,
          ),
        );
        send();
      }),
  );
}

if (role === "serve") {
  const { cert, key } = JSON.parse(process.env.BENCH_TLS);
  const endpoint = Endpoint.bind({ host: "127.0.0.1" });
  endpoint.listen({ alpn: ALPN, tls: { cert, key }, webTransport: {} }, (session) => {
    session.attach({
      onStream(stream) {
        // First byte 1: count until FIN, then answer with the count. Otherwise: echo.
        let mode = -1;
        let bytes = 0;
        stream.attach({
          onData(chunk) {
            if (mode < 0) mode = chunk[0];
            bytes += chunk.length;
            if (mode !== 1) stream.write(chunk);
          },
          onEnd() {
            const count = new Float64Array([bytes]);
            stream.write(mode === 1 ? new Uint8Array(count.buffer) : new Uint8Array(0), true);
          },
          onReset() {},
          onStopSending() {},
          onDrain() {},
          onClosed() {},
        });
      },
      onClosed() {},
    });
  });
  process.send(endpoint.address.port);
} else {
  await main();
}
