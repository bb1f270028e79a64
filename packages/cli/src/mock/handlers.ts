import { setTimeout as sleep } from "node:timers/promises";
import { type CallContext, RpcError } from "@quicrpc/core";
import { ReceivedBlob } from "@quicrpc/core/blobs";
import { type BlobFields, type Payload, topicOfMethod } from "@quicrpc/core/generated";
import { randomNumbers } from "@quicrpc/testing";
import type { ProjectService } from "../project-services.js";
import { countFrom, isStream, itemsOf, type Random, seedOf, withBlobs } from "./items.js";
import { MockError } from "./schema.js";

/** Options of a mock's answers. */
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

/** Handlers of a service that answer with data made from its schema. */
export function mockHandlers({ schema, methods }: ProjectService, options: MockOptions): Record<string, unknown> {
  const own = options.handlers[schema.name] ?? {};
  const unknown = Object.keys(own).filter((name) => !(name in schema.methods));
  if (unknown.length > 0)
    throw new MockError(`${schema.name} has no method ${unknown.join(", ")}, for which there are handlers`);
  const handlers: Record<string, unknown> = {};
  for (const [name, method] of Object.entries(schema.methods)) {
    if (topicOfMethod(method) !== undefined) continue;
    const output = method.type === "rpc" ? method.output : undefined;
    handlers[name] =
      own[name] ?? mockHandler(`${schema.name}/${name}`, method.input, output, methods[name]?.blobs?.fields, options);
  }
  return handlers;
}

/** One method's handler. Throws `MockError` where its output is such that no data can be made of it. */
function mockHandler(
  method: string,
  input: Payload | undefined,
  output: Payload | undefined,
  blobs: BlobFields | undefined,
  options: MockOptions,
): unknown {
  const make = itemsOf(output);
  const takesStream = isStream(input);
  const begin = (given: unknown): Random => {
    const random = randomNumbers(seedOf(options.seed, method, takesStream ? "" : textOf(given)));
    if (random() < options.errors) throw new RpcError("unavailable", `${method} fails, as --errors says`);
    return random;
  };
  const item = (random: Random): unknown => {
    try {
      return withBlobs(make?.(random), blobs?.output, random);
    } catch (error) {
      const advice = "give the method a handler of its own, by --handlers";
      throw new RpcError("internal", `no data for ${method}: ${(error as Error).message}: ${advice}`, { cause: error });
    }
  };
  if (!isStream(output)) {
    return async (given: unknown, { signal }: CallContext) => {
      const random = begin(given);
      if (takesStream) for await (const _ of given as AsyncIterable<unknown>);
      for (const blob of receivedOf(given, blobs?.input)) for await (const _ of blob);
      await pause(options, random, signal);
      return item(random);
    };
  }
  return async function* (given: unknown, { signal }: CallContext) {
    const random = begin(given);
    if (takesStream) {
      for await (const _ of given as AsyncIterable<unknown>) {
        await pause(options, random, signal);
        yield item(random);
      }
      return;
    }
    for (let left = countFrom(random); left > 0; left--) {
      await pause(options, random, signal);
      yield item(random);
    }
  };
}

/** The blobs of an input: an upload is over when they were read. */
function receivedOf(input: unknown, fields: BlobFields["input"] = []): ReceivedBlob[] {
  const values = fields.map(({ name }) => (input as Readonly<Record<string, unknown>>)[name]);
  return values.filter((value) => value instanceof ReceivedBlob);
}

async function pause({ latency: [least, most] }: MockOptions, random: Random, signal: AbortSignal): Promise<void> {
  const ms = least + random() * (most - least);
  if (ms > 0) await sleep(ms, undefined, { signal });
}

/** The same input has the same answer, in whatever order calls come. */
function textOf(input: unknown): string {
  const text = JSON.stringify(input, (_key, value: unknown) => {
    if (typeof value === "bigint") return `${value}n`;
    if (value instanceof Map || value instanceof Set) return [...value];
    return value;
  }) as string | undefined;
  return text ?? "";
}
