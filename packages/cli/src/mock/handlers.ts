import { setTimeout as sleep } from "node:timers/promises";
import { type CallContext, RpcError } from "@quicrpc/core";
import { fnv1a, isBytesSchema, isStreamSchema, type Payload, topicOfMethod } from "@quicrpc/core/generated";
import { randomNumbers } from "@quicrpc/testing";
import type { ProjectService } from "../project-services.js";
import { MockError, type ZodLike } from "./schema.js";
import { valueOf, valuesOf } from "./values.js";

/** How a mock answers. */
export interface MockOptions {
  /** The same seed gives the same answers to the same inputs. */
  readonly seed: number;
  /** Milliseconds before each answer, and each item of a stream: from and to. */
  readonly latency: readonly [number, number];
  /** Share of calls that fail, 0 to 1. */
  readonly errors: number;
  /** Handlers of one's own, by service and method. */
  readonly handlers: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** Items of a stream. */
const ITEMS = [3, 8] as const;
const CHUNK_BYTES = 1024;

/** Handlers of a service that answer with data made from its schema. */
export function mockHandlers({ schema }: ProjectService, options: MockOptions): Record<string, unknown> {
  const own = options.handlers[schema.name] ?? {};
  const unknown = Object.keys(own).filter((name) => !(name in schema.methods));
  if (unknown.length > 0)
    throw new MockError(`${schema.name} has no method ${unknown.join(", ")}, for which there are handlers`);
  const handlers: Record<string, unknown> = {};
  for (const [name, method] of Object.entries(schema.methods)) {
    if (topicOfMethod(method) !== undefined) continue;
    const output = method.type === "rpc" ? method.output : undefined;
    handlers[name] = own[name] ?? mockHandler(`${schema.name}/${name}`, method.input, output, options);
  }
  return handlers;
}

/** One method's handler. Throws `MockError` where its output is such that no data can be made of it. */
function mockHandler(
  method: string,
  input: Payload | undefined,
  output: Payload | undefined,
  options: MockOptions,
): unknown {
  const make =
    output === undefined || isBytesSchema(output)
      ? undefined
      : makerOf(isStreamSchema(output) ? output.item : output, method);
  const takesStream = isStreamSchema(input) || isBytesSchema(input);
  const givesStream = isStreamSchema(output) || isBytesSchema(output);
  const begin = (given: unknown): (() => number) => {
    const random = randomNumbers(seedOf(options.seed, method, takesStream ? undefined : given));
    if (random() < options.errors) throw new RpcError("unavailable", `${method} fails, as --errors says`);
    return random;
  };
  if (!givesStream) {
    return async (given: unknown, { signal }: CallContext) => {
      const random = begin(given);
      if (takesStream) for await (const _ of given as AsyncIterable<unknown>);
      await pause(options, random, signal);
      return make?.(seedFrom(random));
    };
  }
  const item = (random: () => number): unknown => make?.(seedFrom(random)) ?? bytesFrom(random);
  return async function* (given: unknown, { signal }: CallContext) {
    const random = begin(given);
    if (takesStream) {
      for await (const _ of given as AsyncIterable<unknown>) {
        await pause(options, random, signal);
        yield item(random);
      }
      return;
    }
    const [least, most] = ITEMS;
    for (let left = least + Math.floor(random() * (most - least + 1)); left > 0; left--) {
      await pause(options, random, signal);
      yield item(random);
    }
  };
}

function makerOf(schema: unknown, method: string): (seed: number) => unknown {
  const source = valuesOf(schema as ZodLike);
  return (seed) => {
    try {
      return valueOf(schema as ZodLike, source, seed);
    } catch (error) {
      throw new RpcError("internal", `no data for ${method}: ${(error as Error).message}`, { cause: error });
    }
  };
}

async function pause(
  { latency: [least, most] }: MockOptions,
  random: () => number,
  signal: AbortSignal,
): Promise<void> {
  const ms = least + random() * (most - least);
  if (ms > 0) await sleep(ms, undefined, { signal });
}

/** The same input has the same answer, in whatever order calls come. */
function seedOf(seed: number, method: string, input: unknown): number {
  const text = JSON.stringify(input, (_key, value: unknown) => {
    if (typeof value === "bigint") return `${value}n`;
    if (value instanceof Map || value instanceof Set) return [...value];
    return value;
  });
  return (seed ^ fnv1a(`${method} ${text ?? ""}`)) | 0;
}

function seedFrom(random: () => number): number {
  return Math.floor(random() * 2 ** 32) | 0;
}

function bytesFrom(random: () => number): Uint8Array {
  return Uint8Array.from({ length: CHUNK_BYTES }, () => Math.floor(random() * 256));
}
