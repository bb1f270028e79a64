import type { Task } from "./protocol.js";

/** One repeated operation of a contestant. */
export interface Workload {
  readonly name: string;
  /** Unit of `amount`. */
  readonly unit: "calls" | "items" | "notifications" | "MB" | "connections";
  readonly task: Task;
  /** Units per round. Many short rounds spread disturbances of the machine evenly over the contestants. */
  readonly amount: number;
  readonly connections: number;
  /** The cores of server and client. */
  readonly cores: readonly [number, number];
  /** Whether a round always has `amount` units, regardless of its duration. */
  readonly fixed: boolean;
  /** Whether it is part of the quick run. */
  readonly quick: boolean;
  /** Whether every contestant takes part in a full run, and not only the nearest. */
  readonly everyone: boolean;
  /** Factor of the warm-up time compared to other workloads. */
  readonly warmUps: number;
  /** Megabytes of objects that contestants on Node hold at either end, as applications do. */
  readonly heldMegabytes: number;
}

type Options = Partial<Omit<Workload, "name" | "amount" | "task">>;

export function workload(name: string, amount: number, task: Task, options: Options = {}): Workload {
  const usual = { connections: 1, fixed: false, quick: false, everyone: false, warmUps: 1, heldMegabytes: 0 };
  return { name, amount, task, unit: "calls", cores: [0, 1], ...usual, ...options };
}

const everyone = { quick: true, everyone: true };
const fixed = { fixed: true };
/** Heap of an application: V8 collects a heap of less than 8 MB differently. */
const application = { heldMegabytes: 32 };
const multiply = (inFlight: number): Task => ({ do: "multiply", inFlight });
const echo = (bytes: number, inFlight = 8): Task => ({ do: "echo", inFlight, bytes });
const upload: Task = { do: "upload", chunk: 64_000 };
const pipe: Task = { do: "pipe", chunk: 64_000 };
/** V8 needs about 4,000 connections, on the core that makes them, to compile their code. */
const connects = { unit: "connections", warmUps: 16 } as const;
/** V8 also needs many calls to compile the code of a workload with few calls. */
const paced = { ...fixed, warmUps: 8 };

export const workloads: readonly Workload[] = [
  workload("sequential, both on one core", 3_000, multiply(1), { cores: [0, 0], quick: true }),
  workload("sequential", 3_000, multiply(1), everyone),
  workload("8 in flight", 10_000, multiply(8)),
  workload("64 in flight", 30_000, multiply(64), everyone),
  workload("512 in flight", 50_000, multiply(512), everyone),
  workload("8 connections x 64 in flight", 50_000, multiply(64), { connections: 8 }),
  workload("notify", 100_000, { do: "notify" }, { unit: "notifications", quick: true }),
  ...(
    [
      [1000, 1],
      [5000, 32],
    ] as const
  ).map(([batch, inFlight]) => workload(`empty call, ${batch} x ${inFlight}`, batch, { do: "empty", inFlight }, fixed)),
  ...[1_000, 10_000].map((count) =>
    workload(`${count} concurrent calls that wait 100 ms`, count, { do: "wait", inFlight: count, ms: 100 }, fixed),
  ),
  workload("echo 1 KiB, 8 in flight", 5_000, echo(1024)),
  workload("echo 64 KiB, 8 in flight", 1_000, echo(64 * 1024), everyone),
  workload("echo 1 MiB, 8 in flight", 60, echo(1024 * 1024)),
  workload("echo 64 KiB, 8 in flight, beside 32 MB of objects", 1_000, echo(64 * 1024), application),
  workload("record of 14 values each way, 64 in flight", 10_000, { do: "message", inFlight: 64, of: "user" }),
  workload("100 small objects each way, 8 in flight", 1_000, { do: "message", inFlight: 8, of: "points" }),
  workload("server stream of small items", 200_000, { do: "items" }, { unit: "items", ...everyone }),
  workload("200 MB one way", 200, upload, { unit: "MB", quick: true }),
  workload("100 MB both ways at once", 100, pipe, { unit: "MB" }),
  workload("100 MB both ways at once, beside 32 MB of objects", 100, pipe, { unit: "MB", ...application }),
  workload("a call every 2 ms, nothing else", 500, { do: "paced", everyMs: 2 }, paced),
  workload(
    "a call every 2 ms beside 1 GB one way",
    1_000,
    { do: "beside", everyMs: 2, chunk: 64_000 },
    { unit: "MB", ...paced },
  ),
  workload("connect to first reply", 400, { do: "connect", resume: false }, { ...connects, everyone: true }),
  workload("connect to first reply, resumed", 400, { do: "connect", resume: true }, connects),
];

/** Batches of empty calls, for a link with a long round trip. */
export const farBatches: readonly Workload[] = (
  [
    [100, 8],
    [100, 16],
    [100, 32],
    [500, 64],
    [500, 128],
  ] as const
).map(([batch, inFlight]) => workload(`${batch} empty calls x ${inFlight}`, batch, { do: "empty", inFlight }, fixed));

/** The batches, 1 KiB in each direction at once, and the first response, for such a link. */
export const farWorkloads: readonly Workload[] = [
  ...farBatches,
  workload("256 echoes of 1 KiB at once", 256, echo(1024, 256), fixed),
  workload("connect to first reply", 1, { do: "connect", resume: false }, { unit: "connections", fixed: true }),
  workload("connect to first reply, resumed", 1, { do: "connect", resume: true }, { unit: "connections", fixed: true }),
];

/** Workload for a link of 20 Mbit/s with a queue of 50 packets. */
export const slowWorkload: Workload = workload("5 MB one way", 5, upload, { unit: "MB", fixed: true });
