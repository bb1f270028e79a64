import { type Connection, createConnection, type SessionOptions } from "@quicrpc/core";
import type { Kind, Pair } from "./kinds.js";

/** A connection whose sessions are pairs of one kind: a new one for each that is lost, at once. */
export interface ConnectedPairs {
  readonly connection: Connection;
  /** All pairs so far; the last is the current one. */
  readonly pairs: Pair[];
  readonly close: () => Promise<void>;
}

/** @param server options of each session that serves */
export function connectPairs(kind: Kind, server: SessionOptions): ConnectedPairs {
  const pairs: Pair[] = [];
  const dial = async (): Promise<Pair["client"]> => {
    const pair = await kind.connect(undefined, { server });
    pairs.push(pair);
    return pair.client;
  };
  const connection = createConnection(dial, { backoff: { initialMs: 1 } });
  return {
    connection,
    pairs,
    async close() {
      await connection.close();
      await Promise.all(pairs.map((pair) => pair.close()));
    },
  };
}
