import { createConnection, createSession, type Router } from "@quicrpc/core";
import type { MethodDescriptor } from "@quicrpc/core/generated";
import { createMemoryPair } from "@quicrpc/core/transport";
import { onTestFinished } from "vitest";

/** Returns how many turns of the event loop passed until `work` was over, and its result. */
export async function turnsDuring<T>(work: () => Promise<T>): Promise<readonly [turns: number, result: T]> {
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const result = await work();
  isOver = true;
  return [turns, result];
}

/** Waits for the next turn of the event loop. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** A handler whose items do not end. */
export function* endless(): Generator<number> {
  for (let i = 0; ; i++) yield i;
}

/**
 * Reads streams of one client without end, over a pair in memory whose other side is served by `router`.
 *
 * @returns a function that counts the items of all its streams
 */
export function readEndlessly(
  router: Router,
  method: MethodDescriptor<"server_stream", void, void, number, number>,
  streams: number,
): () => number {
  const client = createConnection(() => {
    const [ours, theirs] = createMemoryPair();
    createSession(theirs, { routers: [router] });
    return Promise.resolve(createSession(ours));
  });
  onTestFinished(() => void client.close());
  let items = 0;
  const read = async (): Promise<void> => {
    for await (const _ of client.serverStream(method, undefined)) items++;
  };
  for (let i = 0; i < streams; i++) read().catch(() => {});
  return () => items;
}
