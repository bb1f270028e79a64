// One end of a contestant, in a process of its own; `process-pair.ts` talks to it.
import { devCertificate } from "@quicrpc/node";
import type { Client } from "./contestant.js";
import { contestantNamed } from "./contestants/index.js";

/** What a peer is asked, and what it answers with: CPU in microseconds since the process began. */
export type Command = { readonly run: { readonly calls: number; readonly inFlight: number } } | { readonly cpu: true };
export type Answer =
  | { readonly ready: number }
  | { readonly seconds: number; readonly cpu: number }
  | { readonly cpu: number };

const [role, name, port] = process.argv.slice(2);
const contestant = contestantNamed(name);
const certificate = await devCertificate();

let client: Client | undefined;
if (role === "client") client = await contestant.connect(Number(port), certificate);
process.on("message", (command: Command) => void answer(command));
process.on("disconnect", () => process.exit());
send({ ready: role === "server" ? await contestant.serve(certificate) : 0 });

async function answer(command: Command): Promise<void> {
  if ("cpu" in command || client === undefined) {
    send({ cpu: cpuMicros() });
    return;
  }
  const { calls, inFlight } = command.run;
  const cpu = cpuMicros();
  const started = performance.now();
  await run(client, calls, inFlight);
  send({ seconds: (performance.now() - started) / 1000, cpu: cpuMicros() - cpu });
}

async function run(client: Client, calls: number, inFlight: number): Promise<void> {
  let left = calls;
  const worker = async (): Promise<void> => {
    while (left-- > 0) {
      const a = left & 0xff;
      if ((await client.multiply(a, 3)) !== a * 3) throw new Error("a wrong product");
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
}

function cpuMicros(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

function send(message: Answer): void {
  process.send?.(message);
}
