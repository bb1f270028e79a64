import type { CallOptions, ItemStream, Limits, Session } from "@quicrpc/core";
import { afterEach, beforeEach, describe, expect } from "vitest";
import { distinctKinds, type Kind, kinds, type Pair, scaled } from "./kinds.js";
import { methods, type Witness } from "./service.js";

/** Means of a test of calls: a fresh pair of sessions, and calls in the way that is being tested. */
export interface Calls {
  readonly client: Session;
  readonly server: Session;
  readonly witness: Witness;
  readonly via: "lane" | "stream";
  /** Whether metadata travels in header fields. */
  readonly inHeaders: boolean;
  /** Returns `count`, or a tenth of it for a kind that is like another. */
  readonly scaled: (count: number) => number;
  readonly options: (more?: CallOptions) => CallOptions;
  readonly echo: (text: string, more?: CallOptions) => Promise<{ text: string }>;
  readonly wait: (text: string, more?: CallOptions) => Promise<{ text: string }>;
  readonly items: (n: number, more?: object, call?: CallOptions) => ItemStream<{ i: number; pad?: string | undefined }>;
  readonly chat: (call?: CallOptions) => { readable: ItemStream<string>; writable: WritableStream<string> };
  /** The session still serves. */
  readonly alive: () => Promise<void>;
}

const everyCarrier = ["lane", "stream"] as const;

/** Limits of sessions that make more calls at once than a stranger may. */
export const MANY_CALLS: Partial<Limits> = { maxCalls: 20_000, maxStreams: 20_000, maxSessionBytes: 268_435_456 };

/** Runs the tests of a topic over kinds of sessions, by default all, by lane and by own stream. */
export function describeCalls(
  topic: string,
  define: (on: Calls) => void,
  limits?: Partial<Limits>,
  over: readonly Kind[] = kinds,
): void {
  describe.each(over)(`${topic}: $name`, (kind) => {
    describe.each(kind.carriers ?? everyCarrier)("by %s", (via) => {
      let pair: Pair;
      beforeEach(async () => {
        pair = await kind.connect(limits);
      });
      afterEach(() => pair.close());

      const options = (more: CallOptions = {}): CallOptions => ({ via, ...more });
      const echo: Calls["echo"] = (text, more) => pair.client.unary(methods.echo, { text }, options(more));
      define({
        get client() {
          return pair.client;
        },
        get server() {
          return pair.server;
        },
        get witness() {
          return pair.witness;
        },
        via,
        inHeaders: kind.inHeaders === true,
        scaled: (count) => scaled(count, kind),
        options,
        echo,
        wait: (text, more) => pair.client.unary(methods.wait, { text }, options(more)),
        items: (n, more, call) => pair.client.serverStream(methods.items, { n, ...more }, options(call)),
        chat: (call) => pair.client.duplex(methods.chat, options(call)),
        alive: async () => expect(await echo("alive")).toEqual({ text: "alive" }),
      });
    });
  });
}

/** The same over kinds with sessions of their own, for topics that depend on sessions alone. */
export function describeDistinctCalls(topic: string, define: (on: Calls) => void): void {
  describeCalls(topic, define, undefined, distinctKinds);
}
