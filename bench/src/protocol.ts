// The protocol between the harness and a peer. A peer is one end of a contestant in a process of its own, written in any
// language; each says lines of JSON, the harness on the peer's standard input and the peer on its standard output.
//
//   PEER server HOST CERT.pem KEY.pem      serves on a free port and says {"ready": PORT}
//   PEER client HOST PORT CERT.pem         says {"ready": 0}, and connects when it is told to prepare
//
// Every command gets one answer, in order. A peer ends when its standard input does.

/** The environment variable that says how many MB of objects a peer holds beside its work, where it runs on Node. */
export const HELD_MEGABYTES = "BENCH_HELD_MEGABYTES";

/** The work to be done. A server needs to know nothing of it: it offers the methods of `bench.proto`. */
export type Task =
  | { readonly do: "multiply" | "empty"; readonly inFlight: number }
  | { readonly do: "wait"; readonly inFlight: number; readonly ms: number }
  | { readonly do: "echo"; readonly inFlight: number; readonly bytes: number }
  /** Name of a message of `messages.service.ts`. */
  | { readonly do: "message"; readonly inFlight: number; readonly of: "user" | "points" }
  /** Notifications, until the server has received them all. */
  | { readonly do: "notify" }
  /** One server stream of small items. */
  | { readonly do: "items" }
  /** One client stream of MB (10⁶ bytes), in chunks of so many bytes. */
  | { readonly do: "upload"; readonly chunk: number }
  /** One duplex stream of MB, in chunks of so many bytes that come back: each way so many, at once. */
  | { readonly do: "pipe"; readonly chunk: number }
  /** A small call every so many milliseconds, whether or not those before are answered. */
  | { readonly do: "paced"; readonly everyMs: number }
  /** An upload of MB, in chunks of so many bytes, and such calls on the same connection until it is over: the latencies are theirs. */
  | { readonly do: "beside"; readonly everyMs: number; readonly chunk: number }
  /** New connections one after the other, each until an empty call is answered; `resume`: with an earlier one's ticket. */
  | { readonly do: "connect"; readonly resume: boolean }
  /** New connections that are kept, each after an empty call was answered. */
  | { readonly do: "idle" };

export type Command =
  /** Opens so many connections for it, unless they are open. Answered by `ready` or `cannot`. */
  | { readonly prepare: Task; readonly connections: number }
  /** Does it `amount` times over all connections together. */
  | { readonly run: Task; readonly amount: number }
  /**
   * `collect`: after a garbage collection, where there is one; `grown`: and with a young generation of full size, so that
   * only what lives on makes a difference.
   */
  | { readonly usage: { readonly collect: boolean; readonly grown: boolean } };

export type Answer =
  | { readonly ready: number }
  | { readonly cannot: true }
  | { readonly failed: string }
  | { readonly run: Run }
  | { readonly usage: Usage };

export interface Usage {
  /** Microseconds since the process began, of user and system together. */
  readonly cpu: number;
  /** Resident, in MB (2²⁰ bytes), now and at most. */
  readonly megabytes: number;
  readonly peakMegabytes: number;
}

export interface Run extends Usage {
  /** CPU seconds of this run alone, as `seconds` is. */
  readonly cpu: number;
  readonly seconds: number;
  /** Calls that failed, or were answered wrongly. */
  readonly errors: number;
  /** Latencies of single calls, in ms; null where the task is not made of calls. */
  readonly latency: Latency | null;
}

export interface Latency {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}
