import { setTimeout as sleep } from "node:timers/promises";
import { RpcError } from "@quicrpc/core";
import type { BlobFields } from "@quicrpc/core/generated";
import { isStreamSchema, type ItemCursor, type Payload } from "@quicrpc/core/internal";
import { randomNumbers } from "@quicrpc/testing";
import { isStreamPayload, itemsOf, type Random, seedOf, withBlobs } from "./items.js";

export interface MockOptions {
  /** Seed of the generated data. The same seed leads to the same responses to the same inputs. */
  readonly seed: number;
  /** Minimum and maximum delay in milliseconds before each response, and before each item of a stream. */
  readonly latency: readonly [number, number];
  /** Share of calls that fail, from 0 to 1. */
  readonly errors: number;
}

/**
 * Generates the responses of one method. The constructor throws `MockError` if no data can be generated for the
 * output's schema.
 */
export class MockedMethod {
  private readonly name: string;
  private readonly output: Payload | undefined;
  private readonly isStreamed: boolean;
  private readonly blobs: BlobFields | undefined;
  private readonly options: MockOptions;
  private readonly make: ((random: Random) => unknown) | undefined;

  constructor(
    name: string,
    input: Payload | undefined,
    output: Payload | undefined,
    blobs: BlobFields | undefined,
    options: MockOptions,
  ) {
    this.name = name;
    this.output = output;
    this.isStreamed = isStreamPayload(input);
    this.blobs = blobs;
    this.options = options;
    this.make = itemsOf(output);
  }

  /**
   * Starts a call and returns its random numbers. Throws `RpcError` if this call is selected to fail by the option
   * `--errors`.
   */
  begin(input: unknown): Random {
    const { options, name } = this;
    const random = randomNumbers(seedOf(options.seed, name, this.isStreamed ? "" : textOf(input)));
    if (random() < options.errors) throw new RpcError("unavailable", `${name}: simulated failure (--errors)`);
    return random;
  }

  item(random: Random): unknown {
    try {
      return withBlobs(this.make?.(random), this.blobs?.output, random);
    } catch (error) {
      const advice = "give the method a handler of its own, by --handlers";
      throw new RpcError("internal", `no data for ${this.name}: ${(error as Error).message}: ${advice}`, {
        cause: error,
      });
    }
  }

  /**
   * Generates the item of a stream that follows the cursor `last`, with the next cursor if the schema accepts it, and
   * with its predecessor's cursor.
   */
  itemAfter(last: unknown, { field, predecessor }: ItemCursor, random: Random): Record<string, unknown> {
    const item = { ...(this.item(random) as Record<string, unknown>) };
    const next = Number(last ?? 0) + 1;
    const counted = { ...item, [field]: ofType(item[field], next) };
    const schema = isStreamSchema(this.output) ? this.output.item : undefined;
    const chosen = schema?.safeParse(counted).success === true ? counted : item;
    if (predecessor !== undefined && last === undefined) delete chosen[predecessor];
    else if (predecessor !== undefined) chosen[predecessor] = ofType(chosen[field], last as string);
    return chosen;
  }

  async pause(random: Random, signal: AbortSignal): Promise<void> {
    const [minMs, maxMs] = this.options.latency;
    const ms = minMs + random() * (maxMs - minMs);
    if (ms > 0) await sleep(ms, undefined, { signal });
  }
}

function ofType(example: unknown, cursor: string | number | bigint): string | number | bigint {
  if (typeof example === "number") return Number(cursor);
  return typeof example === "bigint" ? BigInt(cursor) : String(cursor);
}

/**
 * Returns an input as text, from which its seed is derived. The same input then gets the same response, regardless of
 * the order of calls.
 */
function textOf(input: unknown): string {
  const text = JSON.stringify(input, (_key, value: unknown) => {
    if (typeof value === "bigint") return `${value}n`;
    if (value instanceof Map || value instanceof Set) return [...value];
    return value;
  }) as string | undefined;
  return text ?? "";
}
