// One process of `cold-start.ts`: begins, serves, connects and calls, and prints what that took as JSON.
import { createHash, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { contestantNamed } from "./contestants/index.js";

/** Milliseconds and CPU time since this module began, and memory after the first call in MB (10⁶ bytes). */
export interface ColdStart {
  readonly importMs: number;
  readonly callMs: number;
  readonly cpuMs: number;
  readonly heapMegabytes: number;
  readonly megabytes: number;
}

const [name = "", ...programArguments] = process.argv.slice(2);
const print = console.log;
// Standard output is only for results, so output of the packages goes to stderr.
console.log = console.error;
globalThis.gc?.();
const { heapUsed, rss } = process.memoryUsage();
const cpu = process.cpuUsage();
const began = performance.now();
const importMs = await (name === "import"
  ? load(programArguments[0] ?? "")
  : firstCall(programArguments[0] ?? "", programArguments[1] ?? ""));
const callMs = performance.now() - began;
const { user, system } = process.cpuUsage(cpu);
globalThis.gc?.();
const after = process.memoryUsage();
const result: ColdStart = {
  importMs,
  callMs,
  cpuMs: (user + system) / 1000,
  heapMegabytes: (after.heapUsed - heapUsed) / 1e6,
  megabytes: (after.rss - rss) / 1e6,
};
print(JSON.stringify(result));
process.exit();

/** Imports a module and returns the milliseconds that it took. */
async function load(path: string): Promise<number> {
  await import(pathToFileURL(path).href);
  return performance.now() - began;
}

/** Imports the packages, makes a call, and returns the milliseconds of the import. */
async function firstCall(certPath: string, keyPath: string): Promise<number> {
  const contestant = await contestantNamed(name);
  const importMs = performance.now() - began;
  const cert = readFileSync(certPath, "utf8");
  const value = new Uint8Array(createHash("sha256").update(new X509Certificate(cert).raw).digest());
  const certificate = { cert, key: readFileSync(keyPath, "utf8"), hash: { algorithm: "sha-256" as const, value } };
  const port = await contestant.serve("127.0.0.1", certificate);
  const client = await contestant.connect("127.0.0.1", port, certificate);
  if ((await client.multiply(6, 7)) !== 42) throw new Error("a wrong answer");
  return importMs;
}
