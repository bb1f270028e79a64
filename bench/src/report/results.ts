import type { CodecRow } from "../codecs.js";
import type { FarRow } from "../far.js";
import type { GrowthRow } from "../growth.js";
import type { Piece } from "../micro.js";
import type { Machine, Row } from "../rows.js";

/** Everything a full run measured. */
export interface Results {
  readonly machine: Machine;
  readonly command: string;
  readonly date: string;
  readonly minutes: number;
  /** Whether each process was pinned to its own core. */
  readonly pinned: boolean;
  readonly versions: Readonly<Record<string, string>>;
  /** Rows that were left out, and the reasons. */
  readonly skipped: readonly string[];
  readonly rows: readonly Row[];
  readonly growth: readonly GrowthRow[];
  readonly far: readonly FarRow[];
  readonly pieces: readonly Piece[];
  readonly codecs: readonly CodecRow[];
  readonly types: Types;
}

/** Times in ms for a schema with `methods` methods. */
export interface Types {
  readonly methods: number;
  readonly generateMs: number;
  readonly generateAgainMs: number;
  readonly compileMs: number;
  /** The same methods with tRPC. */
  readonly trpcCompileMs: number;
}

export const FLOOR = "floor: msgpackr over TLS";
export const CAPNP = "Cap'n Proto over QUIC (Rust, quinn)";
export const GRPC_JS = "@grpc/grpc-js";
export const GRPC_GO = "gRPC in Go";
