// One end of a contestant that runs on Node, in a process of its own; `protocol.ts` says what is said to it.
import { createHash, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Certificate, Client } from "./contestant.js";
import { contestantNamed } from "./contestants/index.js";
import { type Answer, type Command, HELD_MEGABYTES, type Task, type Usage } from "./protocol.js";
import { canDo, runTask } from "./run-task.js";

const [name, role, host = "127.0.0.1", ...rest] = process.argv.slice(2);
const [port, certificate] =
  role === "server" ? [0, readCertificate(rest[0], rest[1])] : [Number(rest[0]), readCertificate(rest[1])];
// Output of the packages is not an answer.
console.log = console.error;
const contestant = await contestantNamed(name);
/** Objects as in the heap of an application, about 100 bytes each. */
const held: object[] = [];
for (let i = 0; i < Number(process.env[HELD_MEGABYTES] ?? 0) * 10_000; i++) held.push({ i, list: [i] });
const clients: Client[] = [];
let waiting: Promise<void> = Promise.resolve();
createInterface({ input: process.stdin })
  .on("line", (line) => {
    waiting = waiting.then(async () => send(await answer(JSON.parse(line) as Command)));
  })
  .on("close", () => process.exit());
send({ ready: role === "server" ? await contestant.serve(host, certificate) : 0 });

async function answer(command: Command): Promise<Answer> {
  try {
    if ("usage" in command) {
      if (command.usage.grown) growYoungGeneration();
      if (command.usage.collect) await collect();
      return { usage: usage() };
    }
    if ("prepare" in command)
      return (await prepare(command.prepare, command.connections)) ? { ready: 0 } : { cannot: true };
    const before = usage();
    const outcome = await runTask(command.run, command.amount, clients, () => open(command.run));
    const after = usage();
    return { run: { ...after, ...outcome, cpu: after.cpu - before.cpu } };
  } catch (error) {
    return { failed: String(error) };
  }
}

async function prepare(task: Task, connections: number): Promise<boolean> {
  if (task.do === "idle") return true;
  if (task.do === "connect") return !task.resume || contestant.resume !== undefined;
  while (clients.length < connections) clients.push(await open(task));
  return clients.every((client) => canDo(task, client));
}

function open(task: Task): Promise<Client> {
  const connect = (task.do === "connect" && task.resume && contestant.resume) || contestant.connect;
  return connect(host, port, certificate);
}

function usage(): Usage {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  return {
    cpu: userCPUTime + systemCPUTime,
    megabytes: process.memoryUsage.rss() / 2 ** 20,
    peakMegabytes: maxRSS / 1024,
  };
}

/**
 * Grows V8's young generation to its full size of about 30 MB, so that its growth is not counted as a cost of the
 * workload.
 */
function growYoungGeneration(): void {
  for (let round = 0; round < 50; round++) Array.from({ length: 100_000 }, (_, i) => ({ i }));
}

/**
 * Collects garbage several times, because V8 returns memory to the system on its own threads, and finalizers leave
 * garbage.
 */
async function collect(): Promise<void> {
  for (let round = 0; round < 4; round++) {
    globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function readCertificate(certPath = "", keyPath?: string): Certificate {
  const cert = readFileSync(certPath, "utf8");
  const value = new Uint8Array(createHash("sha256").update(new X509Certificate(cert).raw).digest());
  return {
    cert,
    key: keyPath === undefined ? "" : readFileSync(keyPath, "utf8"),
    hash: { algorithm: "sha-256", value },
  };
}

function send(message: Answer): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}
