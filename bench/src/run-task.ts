import { makers } from "./codecs/values.js";
import type { Client } from "./contestant.js";
import type { Latency, Task } from "./protocol.js";

/** The time of a task, in seconds; the failures among its calls; how long single calls took. */
export interface Outcome {
  readonly seconds: number;
  readonly errors: number;
  readonly latency: Latency | null;
}

/** Whether a client can do it. */
export function canDo(task: Task, client: Client): boolean {
  switch (task.do) {
    case "message":
    case "notify":
    case "items":
    case "upload":
    case "pipe":
      return client[task.do] !== undefined;
    case "beside":
      return client.upload !== undefined;
    default:
      return true;
  }
}

/** Does `amount` of a task over `clients`. `open` makes a new connection, for the tasks that are about that. */
export async function runTask(
  task: Task,
  amount: number,
  clients: readonly Client[],
  open: () => Promise<Client>,
): Promise<Outcome> {
  switch (task.do) {
    case "multiply":
      return calls(clients, task.inFlight, amount, multiply);
    case "empty":
      return calls(clients, task.inFlight, amount, (client) => client.empty());
    case "wait":
      return calls(clients, task.inFlight, amount, (client) => client.wait(task.ms));
    case "echo": {
      const bytes = new Uint8Array(task.bytes).map((_, i) => i * 7);
      return calls(clients, task.inFlight, amount, async (client) => {
        const back = await client.echo(bytes);
        if (back.length !== task.bytes || back[task.bytes - 1] !== bytes[task.bytes - 1])
          throw new Error("a wrong echo");
      });
    }
    case "message": {
      const values = Array.from({ length: 64 }, makers[task.of]);
      return calls(clients, task.inFlight, amount, async (client, index) => {
        const back = await client.message?.(task.of, values[index & 63]);
        if (typeof back !== "object" || back === null) throw new Error("no message came back");
      });
    }
    case "notify":
      return bulk(() => clients[0]?.notify?.(amount) ?? Promise.resolve());
    case "items":
      return bulk(async () => expectAll("items", amount, (await clients[0]?.items?.(amount)) ?? 0));
    case "upload":
    case "pipe":
      return bulk(() => upload(task.do, clients, amount, task.chunk));
    case "paced":
      return paced(clients, task.everyMs, (begun) => begun < amount);
    case "beside": {
      let over = false;
      const moved = bulk(() => upload("upload", clients, amount, task.chunk)).finally(() => (over = true));
      const [{ seconds }, calls] = await Promise.all([moved, paced(clients, task.everyMs, () => !over)]);
      return { ...calls, seconds };
    }
    case "connect":
      return connect(amount, open);
    case "idle":
      return idle(amount, open);
  }
}

async function calls(
  clients: readonly Client[],
  inFlight: number,
  amount: number,
  call: (client: Client, index: number) => Promise<unknown>,
): Promise<Outcome> {
  const measured = new MeasuredCalls();
  let left = amount;
  const worker = async (client: Client): Promise<void> => {
    while (left-- > 0) await measured.make(() => call(client, left));
  };
  return measured.over(async () => {
    await Promise.all(clients.flatMap((client) => Array.from({ length: inFlight }, () => worker(client))));
  });
}

/** Calls whose durations are kept; the first that fails is printed. */
class MeasuredCalls {
  private readonly durations: number[] = [];
  private errors = 0;

  async make(call: () => Promise<unknown>): Promise<void> {
    const started = performance.now();
    try {
      await call();
    } catch (error) {
      if (this.errors++ === 0) console.error(error);
    }
    this.durations.push(performance.now() - started);
  }

  /** Runs what makes the calls, and says what came of them. */
  async over(run: () => Promise<void>): Promise<Outcome> {
    const seconds = await timed(run);
    return { seconds, errors: this.errors, latency: quantiles(this.durations) };
  }
}

async function multiply(client: Client, index: number): Promise<void> {
  const a = index & 0xff;
  if ((await client.multiply(a, 3)) !== a * 3) throw new Error("a wrong product");
}

/** Calls at a steady pace: a slow answer does not hold up the next. */
async function paced(clients: readonly Client[], everyMs: number, more: (begun: number) => boolean): Promise<Outcome> {
  const [client] = clients;
  if (client === undefined) throw new Error("there is no connection");
  const measured = new MeasuredCalls();
  const begun: Promise<void>[] = [];
  return measured.over(async () => {
    while (more(begun.length)) {
      const index = begun.length;
      begun.push(measured.make(() => multiply(client, index)));
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
    await Promise.all(begun);
  });
}

async function upload(
  way: "upload" | "pipe",
  clients: readonly Client[],
  megabytes: number,
  size: number,
): Promise<void> {
  const count = Math.ceil((megabytes * 1e6) / size);
  const chunk = new Uint8Array(size);
  expectAll("bytes", count * size, (await clients[0]?.[way]?.(chunk, count)) ?? 0);
}

async function bulk(run: () => Promise<void>): Promise<Outcome> {
  return { seconds: await timed(run), errors: 0, latency: null };
}

function expectAll(what: string, expected: number, done: number): void {
  if (done !== expected) throw new Error(`${done} of ${expected} ${what}`);
}

/** Without the time that closing takes. */
async function connect(amount: number, open: () => Promise<Client>): Promise<Outcome> {
  const durations: number[] = [];
  for (let i = 0; i < amount; i++) {
    const started = performance.now();
    const client = await open();
    await client.empty();
    durations.push(performance.now() - started);
    await client.close();
  }
  return { seconds: durations.reduce((a, b) => a + b, 0) / 1000, errors: 0, latency: quantiles(durations) };
}

/** Kept until the process ends. */
const idlers: Client[] = [];

/** Few at once: it is about their memory, and a burst of handshakes would leave its own traces. */
async function idle(amount: number, open: () => Promise<Client>): Promise<Outcome> {
  let left = amount;
  const worker = async (): Promise<void> => {
    while (left-- > 0) {
      const client = await open();
      await client.empty();
      idlers.push(client);
    }
  };
  const seconds = await timed(async () => void (await Promise.all(Array.from({ length: 16 }, worker))));
  return { seconds, errors: 0, latency: null };
}

async function timed(run: () => Promise<void>): Promise<number> {
  const started = performance.now();
  await run();
  return (performance.now() - started) / 1000;
}

function quantiles(durations: readonly number[]): Latency | null {
  if (durations.length === 0) return null;
  const sorted = Float64Array.from(durations).sort();
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}
