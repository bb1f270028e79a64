// Shared by the benches: a certificate, a server in a process of its own, and what the system says about a process.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import "reflect-metadata";
import { SubjectAlternativeNameExtension, X509CertificateGenerator } from "@peculiar/x509";

export const ALPN = ["echo"];

/** A certificate for this run. */
export async function identity() {
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
  return {
    cert: certificate.toString("pem"),
    key: `-----BEGIN PRIVATE KEY-----\n${pkcs8}\n-----END PRIVATE KEY-----\n`,
    hash: new Uint8Array(await crypto.subtle.digest("SHA-256", certificate.rawData)),
  };
}

/** Starts `file` with `serve`, which answers with `serving`. `prefix` is a command that runs it. */
export async function startServer(file, { cert, key }, args = [], prefix = []) {
  const [command, ...rest] = [...prefix, process.execPath, ...process.execArgv, file, "serve", ...args];
  const child = spawn(command, rest, {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    env: { ...process.env, BENCH_TLS: JSON.stringify({ cert, key }) },
  });
  const answer = () => new Promise((resolve) => child.once("message", resolve));
  return {
    pid: child.pid,
    ports: await answer(),
    ask(question) {
      child.send(question);
      return answer();
    },
    stop: () => child.kill(),
  };
}

/**
 * The server's side of `startServer`: `answer` gets each question, and what answers it.
 * @param {(question: unknown, reply: (answer: unknown) => void) => void} answer
 */
export function serving(ports, answer = () => {}) {
  // A client that died leaves no server behind.
  process.once("disconnect", () => process.exit());
  process.on("message", (question) => answer(question, (value) => process.send(value)));
  process.send(ports);
}

export const servedTls = () => JSON.parse(process.env.BENCH_TLS);

export const pinned = ({ hash }) => ({ serverCertificateHashes: [{ algorithm: "sha-256", value: hash }] });

/** A stream's handler of which only some events matter. */
export const on = (events) => ({
  onData() {},
  onEnd() {},
  onReset() {},
  onStopSending() {},
  onDrain() {},
  onClosed() {},
  ...events,
});

export function echo(session) {
  session.attach({
    onStream: (stream) =>
      stream.attach(
        on({
          onData: (chunk) => void (stream.write(chunk) || stream.pause()),
          onDrain: () => stream.resume(),
          onEnd: () => stream.write(new Uint8Array(0), true),
        }),
      ),
    onClosed() {},
  });
}

/** CPU time of a process so far; Linux only. */
export function cpuSeconds(pid) {
  if (process.platform !== "linux") return Number.NaN;
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

export const median = (numbers) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1];
