import { type Code, RpcError } from "@quicrpc/core";
import { expect } from "vitest";

export const codes: Code[] = [
  "cancelled",
  "unknown",
  "invalid_argument",
  "deadline_exceeded",
  "not_found",
  "already_exists",
  "permission_denied",
  "resource_exhausted",
  "failed_precondition",
  "aborted",
  "out_of_range",
  "unimplemented",
  "internal",
  "unavailable",
  "data_loss",
  "unauthenticated",
];

export function range(n: number): { i: number }[] {
  return Array.from({ length: n }, (_, i) => ({ i }));
}

export function readableFrom<T>(items: T[]): ReadableStream<T> {
  return new ReadableStream({
    start(out) {
      for (const item of items) out.enqueue(item);
      out.close();
    },
  });
}

export async function* asyncFrom<T>(items: T[]): AsyncIterable<T> {
  yield* items;
}

/** -1, or another number, and then nothing until it is left. */
export function endless(first: number = -1): AsyncIterable<number> & { left: Promise<void> } {
  let leave: () => void = () => {};
  const left = new Promise<void>((resolve) => {
    leave = resolve;
  });
  let given = false;
  const iterator: AsyncIterator<number> = {
    next: () => {
      if (given) return new Promise(() => {});
      given = true;
      return Promise.resolve({ done: false, value: first });
    },
    return: () => {
      leave();
      return Promise.resolve({ done: true, value: undefined });
    },
  };
  return { left, [Symbol.asyncIterator]: () => iterator };
}

/** Timers of this process that would fire. */
export function timers(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === "Timeout").length;
}

export async function collect<T>(stream: ReadableStream<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of stream) all.push(item);
  return all;
}

export async function failure(promise: Promise<unknown>): Promise<RpcError> {
  try {
    await promise;
  } catch (error) {
    expect(error).toBeInstanceOf(RpcError);
    return error as RpcError;
  }
  throw new Error("the call succeeded");
}
