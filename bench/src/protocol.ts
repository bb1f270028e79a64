// The protocol between the harness and a peer. A peer is one end of a contestant in a process of its own, written in any
// language; each says lines of JSON, the harness on the peer's standard input and the peer on its standard output.
//
//   PEER server HOST CERT.pem KEY.pem      serves on a free port and says {"ready": PORT}
//   PEER client HOST PORT CERT.pem         says {"ready": 0}, and connects when it is told to prepare
//
// Every command gets one answer, in order. A peer ends when its standard input does.

/** Environment variable with the number of MB of objects that a peer on Node holds in addition to its work. */
export const HELD_MEGABYTES = "BENCH_HELD_MEGABYTES";

/** The work to be done. A server does not need to know it: it offers the methods of `bench.proto`. */
export type Task =
  | { readonly do: "multiply" | "empty"; readonly inFlight: number }
  | { readonly do: "wait"; readonly inFlight: number; readonly ms: number }
  | { readonly do: "echo"; readonly inFlight: number; readonly bytes: number }
  /** Name of a message of `messages.service.ts`. */
  | { readonly do: "message"; readonly inFlight: number; readonly of: "user" | "points" }
  /** Notifications, complete when the server has received them all. */
  | { readonly do: "notify" }
  /** One server stream of small items. */
  | { readonly do: "items" }
  /** One client stream of MB (10⁶ bytes), in chunks of `chunk` bytes. */
  | { readonly do: "upload"; readonly chunk: number }
  /** One duplex stream of MB in each direction, in chunks of `chunk` bytes that the server sends back. */
  | { readonly do: "pipe"; readonly chunk: number }
  /** A small call every `everyMs` milliseconds, whether or not earlier ones are answered. */
  | { readonly do: "paced"; readonly everyMs: number }
  /**
   * An upload of MB in chunks of `chunk` bytes, with paced calls on the same connection until it ends; the latencies
   * are those calls'.
   */
  | { readonly do: "beside"; readonly everyMs: number; readonly chunk: number }
  /**
   * New connections one after the other, each until an empty call is answered; `resume`: with the ticket of an earlier
   * one.
   */
  | { readonly do: "connect"; readonly resume: boolean }
  /** New connections that stay open, each after one answered empty call. */
  | { readonly do: "idle" };

export type Command =
  /** Opens `connections` connections for the task, unless they are open. Answered by `ready` or `cannot`. */
  | { readonly prepare: Task; readonly connections: number }
  /** Performs the task `amount` times over all connections together. */
  | { readonly run: Task; readonly amount: number }
  /**
   * `collect`: after a garbage collection, if available; `grown`: also with a young generation of full size, so that
   * only surviving objects make a difference.
   */
  | { readonly usage: { readonly collect: boolean; readonly grown: boolean } };

export type Answer =
  | { readonly ready: number }
  | { readonly cannot: true }
  | { readonly failed: string }
  | { readonly run: Run }
  | { readonly usage: Usage };

export interface Usage {
  /** Microseconds of user and system time since the process began. */
  readonly cpu: number;
  /** Resident memory in MB (2²⁰ bytes), now and at most. */
  readonly megabytes: number;
  readonly peakMegabytes: number;
}

export interface Run extends Usage {
  /** CPU seconds of this run alone. */
  readonly cpu: number;
  readonly seconds: number;
  /** Number of calls that failed or had a wrong response. */
  readonly errors: number;
  /** Latencies of single calls in ms; null if the task does not consist of calls. */
  readonly latency: Latency | null;
}

export interface Latency {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}
