import type { Client } from "./contestant.js";

/** One thing to do with a client, many times over. */
export interface Workload {
  readonly name: string;
  /** What `amount` counts. */
  readonly unit: "calls" | "items" | "notifications" | "MB";
  /** Per round: many short rounds, so that what disturbs the machine disturbs all contestants alike. */
  readonly amount: number;
  readonly connections: number;
  /** Of server and client. */
  readonly cores: readonly [number, number];
  /** Whether a round is always of `amount`, however long it takes. */
  readonly fixed: boolean;
  /** Part of the quick run. */
  readonly quick: boolean;
  /** Whether a client can do it. */
  can(client: Client): boolean;
  /** Does `amount` over `clients`, and notes how long each call took, in ms. */
  run(clients: readonly Client[], amount: number, took: (ms: number) => void): Promise<void>;
}

type Call = (client: Client, index: number) => Promise<unknown>;

/** `call` made `amount` times, `inFlight` at once on every connection. */
function calls(
  name: string,
  amount: number,
  inFlight: number,
  call: Call,
  options: Partial<Pick<Workload, "connections" | "cores" | "quick" | "fixed">> = {},
): Workload {
  return {
    name,
    unit: "calls",
    amount,
    connections: options.connections ?? 1,
    cores: options.cores ?? [0, 1],
    fixed: options.fixed ?? false,
    quick: options.quick ?? false,
    can: () => true,
    async run(clients, count, took) {
      let left = count;
      const worker = async (client: Client): Promise<void> => {
        while (left-- > 0) {
          const started = performance.now();
          await call(client, left);
          took(performance.now() - started);
        }
      };
      await Promise.all(clients.flatMap((client) => Array.from({ length: inFlight }, () => worker(client))));
    },
  };
}

const multiply: Call = async (client, index) => {
  const a = index & 0xff;
  if ((await client.multiply(a, 3)) !== a * 3) throw new Error("a wrong product");
};
const empty: Call = (client) => client.empty();
const wait: Call = (client) => client.wait(100);

function echo(size: number): Call {
  const bytes = new Uint8Array(size).map((_, i) => i * 7);
  return async (client) => {
    const back = await client.echo(bytes);
    if (back.length !== size || back[size - 1] !== bytes[size - 1]) throw new Error("a wrong echo");
  };
}

/** One operation that counts for `amount` of something. */
function bulk(
  name: string,
  unit: Workload["unit"],
  amount: number,
  of: keyof Client,
  run: (client: Client, amount: number) => Promise<number>,
): Workload {
  return {
    name,
    unit,
    amount,
    connections: 1,
    cores: [0, 1],
    fixed: false,
    quick: true,
    can: (client) => client[of] !== undefined,
    async run([client], count) {
      if (client === undefined) return;
      const done = await run(client, count);
      if (done !== count) throw new Error(`${done} of ${count} ${unit}`);
    },
  };
}

const CHUNK = new Uint8Array(64_000);

/** So many MB to the server, in chunks. */
function upload(name: string, megabytes: number): Workload {
  return bulk(name, "MB", megabytes, "upload", async (client, amount) => {
    const chunks = Math.ceil((amount * 1e6) / CHUNK.length);
    const bytes = await client.upload?.(CHUNK, chunks);
    return bytes === chunks * CHUNK.length ? amount : (bytes ?? 0) / 1e6;
  });
}

export const workloads: readonly Workload[] = [
  calls("sequential, both on one core", 3_000, 1, multiply, { cores: [0, 0], quick: true }),
  calls("sequential", 3_000, 1, multiply, { quick: true }),
  calls("8 in flight", 10_000, 8, multiply),
  calls("64 in flight", 30_000, 64, multiply, { quick: true }),
  calls("512 in flight", 50_000, 512, multiply, { quick: true }),
  calls("8 connections x 64 in flight", 50_000, 64, multiply, { connections: 8 }),
  bulk("notify", "notifications", 100_000, "notify", async (client, amount) => {
    await client.notify?.(amount);
    return amount;
  }),
  ...(
    [
      [1000, 1],
      [1000, 8],
      [5000, 8],
      [5000, 16],
      [5000, 32],
    ] as const
  ).map(([batch, concurrency]) =>
    calls(`empty call, ${batch} x ${concurrency}`, batch, concurrency, empty, { fixed: true }),
  ),
  ...[100, 1_000, 10_000].map((count) =>
    calls(`${count} concurrent calls that wait 100 ms`, count, count, wait, { fixed: true }),
  ),
  calls("echo 1 KiB, 8 in flight", 5_000, 8, echo(1024)),
  calls("echo 64 KiB, 8 in flight", 1_000, 8, echo(64 * 1024), { quick: true }),
  calls("echo 1 MiB, 8 in flight", 60, 8, echo(1024 * 1024)),
  bulk(
    "server stream of small items",
    "items",
    200_000,
    "items",
    (client, amount) => client.items?.(amount) ?? Promise.resolve(0),
  ),
  upload("one way", 192),
];

/** For a link with 16 ms of round-trip time: batches of empty calls, and 1 KiB each way at once. */
export const farWorkloads: readonly Workload[] = [
  ...(
    [
      [100, 8],
      [100, 32],
      [500, 128],
    ] as const
  ).map(([batch, concurrency]) =>
    calls(`far: ${batch} calls x ${concurrency}`, batch, concurrency, empty, { fixed: true }),
  ),
  calls("far: 256 echoes of 1 KiB at once", 256, 256, echo(1024), { fixed: true }),
];

/** For a link of 20 Mbit/s with a queue of 50 packets. */
export const slowWorkload: Workload = upload("slow: 16 MB one way", 16);

export function workloadNamed(wanted: string | undefined): Workload {
  const found = [...workloads, ...farWorkloads, slowWorkload].find(({ name }) => name === wanted);
  if (found === undefined) throw new Error(`no workload is called "${wanted}"`);
  return found;
}
