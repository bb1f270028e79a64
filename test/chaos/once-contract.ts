import { defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { onceCalls } from "@quicrpc/durable/generated";

/** The point at which the server of a call is killed, or suspended for longer than a lease. */
export type Fate =
  | "fair"
  | "slow"
  | "killed before"
  | "killed after"
  | "killed recorded"
  | "killed answered"
  | "paused";

export interface Add {
  readonly fate: Fate;
}

const service = { name: "test.v1.Counter", id: 4713 };

/** A method whose effect is a line in the server's journal. */
export const add = defineMethod(service, "unary", "add", {
  id: 1,
  input: uncheckedCodec<Add>(),
  output: uncheckedCodec<string>(),
  extension: onceCalls,
});

/** Milliseconds of a lease, so short that owners often lose theirs. */
export const LEASE_MS = 500;

export interface OnceServerSettings {
  readonly listen: string;
  readonly journal: string;
  /** A Redis's socket; undefined for a store in memory. */
  readonly socket: string | undefined;
}
