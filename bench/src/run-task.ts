import { makers } from "./codecs/values.js";
import type { Client } from "./contestant.js";
import type { Latency, Task } from "./protocol.js";

/** Result of a task: seconds, number of failed calls, and latencies of single calls. */
export interface Outcome {
  readonly seconds: number;
  readonly errors: number;
  readonly latency: Latency | null;
}

/** Returns whether a client supports a task. */
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

/** Performs a task `amount` times over `clients`. `open` makes a new connection, for tasks about connections. */
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
      return calls(clients, task.inFlight, amount, { make: (client) => client.empty() });
    case "wait":
      return calls(clients, task.inFlight, amount, { make: (client) => client.wait(task.ms) });
    case "echo": {
      const bytes = new Uint8Array(task.bytes).map((_, i) => i * 7);
      return calls(clients, task.inFlight, amount, {
        make: (client) => client.echo(bytes),
        check(back) {
          if (back.length !== task.bytes || back[task.bytes - 1] !== bytes[task.bytes - 1])
            throw new Error("a wrong echo");
        },
      });
    }
    case "message": {
      const values = Array.from({ length: 64 }, makers[task.of]);
      return calls(clients, task.inFlight, amount, {
        make: async (client, index) => client.message?.(task.of, values[index & 63]),
        check(back) {
          if (typeof back !== "object" || back === null) throw new Error("no message came back");
        },
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

/** One call of a task. */
interface TaskCall<Answer> {
  make(client: Client, index: number): Promise<Answer>;
  /** Throws if the response is wrong. */
  check?(answer: Answer, index: number): void;
}

const multiply: TaskCall<number> = {
  make: (client, index) => client.multiply(index & 0xff, 3),
  check(product, index) {
    if (product !== (index & 0xff) * 3) throw new Error("a wrong product");
  },
};

async function calls<Answer>(
  clients: readonly Client[],
  inFlight: number,
  amount: number,
  call: TaskCall<Answer>,
): Promise<Outcome> {
  const measured = new MeasuredCalls();
  let left = amount;
  const next = (): number | undefined => (left > 0 ? --left : undefined);
  return measured.over(async () => {
    await Promise.all(
      clients.flatMap((client) => Array.from({ length: inFlight }, () => measured.make(client, call, next))),
    );
  });
}

/** Durations of calls in ms, reused by all tasks, so that their memory is not counted as the memory of calls. */
let durations = new Float64Array(4096);

/** Makes, counts and times the calls of one task; prints the first failure. */
class MeasuredCalls {
  private count = 0;
  private errors = 0;

  /**
   * Makes a call for each index from `next`, one after the other. A promise of the bench for each call would count as
   * memory of the calls.
   */
  async make<Answer>(client: Client, call: TaskCall<Answer>, next: () => number | undefined): Promise<void> {
    for (let index = next(); index !== undefined; index = next()) {
      const started = performance.now();
      try {
        const answer = await call.make(client, index);
        call.check?.(answer, index);
      } catch (error) {
        if (this.errors++ === 0) console.error(error);
      }
      this.took(performance.now() - started);
    }
  }

  /** Runs the function that makes the calls, and returns the outcome. */
  async over(run: () => Promise<void>): Promise<Outcome> {
    const seconds = await timed(run);
    return { seconds, errors: this.errors, latency: quantiles(durations.subarray(0, this.count)) };
  }

  private took(ms: number): void {
    if (this.count === durations.length) {
      const larger = new Float64Array(2 * this.count);
      larger.set(durations);
      durations = larger;
    }
    durations[this.count++] = ms;
  }
}

/** Makes calls at a steady pace: a slow response does not delay the next call. */
async function paced(clients: readonly Client[], everyMs: number, more: (begun: number) => boolean): Promise<Outcome> {
  const [client] = clients;
  if (client === undefined) throw new Error("there is no connection");
  const measured = new MeasuredCalls();
  const begun: Promise<void>[] = [];
  return measured.over(async () => {
    while (more(begun.length)) {
      const due = [begun.length];
      begun.push(measured.make(client, multiply, () => due.pop()));
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

/**
 * The last connection that `connect` made. It is closed when the next one is open, because the ticket of a session that
 * began early arrives a round trip after its first response.
 */
let connected: Client | undefined;

/** Measures connections without the time to close them. */
async function connect(amount: number, open: () => Promise<Client>): Promise<Outcome> {
  const taken = new Float64Array(amount);
  for (let i = 0; i < amount; i++) {
    const started = performance.now();
    const client = await open();
    await client.empty();
    taken[i] = performance.now() - started;
    await connected?.close();
    connected = client;
  }
  return { seconds: taken.reduce((a, b) => a + b, 0) / 1000, errors: 0, latency: quantiles(taken) };
}

/** Connections that stay open until the process ends. */
const idlers: Client[] = [];

/** Opens connections a few at a time: this measures their memory, and a burst of handshakes would leave garbage. */
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

/** Computes quantiles by nearest rank. Sorts `taken`. */
function quantiles(taken: Float64Array): Latency | null {
  if (taken.length === 0) return null;
  const sorted = taken.sort();
  const at = (share: number): number => sorted[Math.ceil(sorted.length * share) - 1] ?? 0;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}
