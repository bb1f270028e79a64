import { createRouter, defineMethod, zodCodec } from "@quicrpc/core/generated";
import { RpcError, type Code, type Router } from "@quicrpc/core";
import { z } from "zod";

const service = { name: "test.v1.Behaviour", id: 4660 };
const Text = z.object({ text: z.string() });
const Count = z.object({
  n: z.int(),
  /** Bytes of padding in each item. */
  size: z.int().optional(),
  /** Fails after n items with this code. */
  failWith: z.string().optional(),
  /** Stays open after n items. */
  open: z.boolean().optional(),
});
const Item = z.object({ i: z.int(), pad: z.string().optional() });

/** One method of each kind and habit that the behaviours need, described by hand. */
export const methods = {
  echo: defineMethod(service, "unary", "echo", { id: 1, input: zodCodec(Text), output: zodCodec(Text) }),
  /** Answers with a description of an empty object. */
  blank: defineMethod(service, "unary", "blank", {
    id: 2,
    input: zodCodec(z.object({ text: z.string().optional() })),
    output: zodCodec(z.object({ keys: z.int().optional() })),
  }),
  nothing: defineMethod(service, "unary", "nothing", { id: 3 }),
  fail: defineMethod(service, "unary", "fail", {
    id: 4,
    input: zodCodec(z.object({ code: z.string(), message: z.string(), details: z.unknown().optional() })),
    output: zodCodec(Text),
  }),
  /** Throws what is not an RpcError. */
  crash: defineMethod(service, "unary", "crash", { id: 5, input: zodCodec(Text), output: zodCodec(Text) }),
  /** Gives what its schema forbids. */
  wrong: defineMethod(service, "unary", "wrong", {
    id: 6,
    input: zodCodec(Text),
    output: zodCodec(z.object({ n: z.int() })),
  }),
  /** Answers when told to by `release`, or fails when its signal fires. */
  wait: defineMethod(service, "unary", "wait", { id: 7, input: zodCodec(Text), output: zodCodec(Text) }),
  remaining: defineMethod(service, "unary", "remaining", { id: 8, output: zodCodec(z.number().nullable()) }),
  note: defineMethod(service, "notify", "note", { id: 9, input: zodCodec(Text) }),
  items: defineMethod(service, "server_stream", "items", { id: 10, input: zodCodec(Count), output: zodCodec(Item) }),
  /** Calls `echo` of the caller. */
  callBack: defineMethod(service, "unary", "callBack", { id: 11, input: zodCodec(Text), output: zodCodec(Text) }),
  /** Adds numbers; stops early after a negative one and returns the sum so far. */
  sum: defineMethod(service, "client_stream", "sum", {
    id: 12,
    input: zodCodec(z.number()),
    output: zodCodec(z.number()),
  }),
  /** Repeats each text in upper case; "first" answers before it reads. */
  chat: defineMethod(service, "duplex", "chat", { id: 13, input: zodCodec(z.string()), output: zodCodec(z.string()) }),
  /** Reads no item until `release("sink")`, then counts them. */
  sink: defineMethod(service, "client_stream", "sink", {
    id: 14,
    input: zodCodec(z.string()),
    output: zodCodec(z.int()),
  }),
  /** Reads nothing until its signal fires. */
  stall: defineMethod(service, "duplex", "stall", {
    id: 15,
    input: zodCodec(z.string()),
    output: zodCodec(z.string()),
  }),
  /** Reads one item, and answers when told to by `release("enough")`. */
  enough: defineMethod(service, "duplex", "enough", {
    id: 16,
    input: zodCodec(z.string()),
    output: zodCodec(z.string()),
  }),
};

/** Known to the client alone. */
export const unserved = {
  method: defineMethod(service, "unary", "unserved", { id: 999, input: zodCodec(Text), output: zodCodec(Text) }),
  service: defineMethod({ name: "test.v1.Other", id: 9 }, "unary", "x", {
    id: 1,
    input: zodCodec(Text),
    output: zodCodec(Text),
  }),
};

/** Records the actions of handlers, so that tests can wait for them instead of sleeping. */
export class Witness {
  readonly events: string[] = [];
  readonly errors: { error: unknown; method: string }[] = [];
  readonly release: Map<string, () => void> = new Map();
  private waiting: { event: string; resolve: () => void }[] = [];

  saw(event: string): void {
    this.events.push(event);
    this.waiting = this.waiting.filter((wait) => {
      if (wait.event === event) wait.resolve();
      return wait.event !== event;
    });
  }

  /** Resolves when the event has happened. */
  until(event: string): Promise<void> {
    if (this.events.includes(event)) return Promise.resolve();
    return new Promise((resolve) => this.waiting.push({ event, resolve }));
  }
}

export function behaviourRouter(witness: Witness): Router {
  return createRouter(methods, {
    echo: ({ text }) => ({ text }),
    blank: (input) => (Object.keys(input).length === 0 ? {} : { keys: Object.keys(input).length }),
    nothing: () => witness.saw("nothing"),
    fail: ({ code, message, details }) => {
      throw new RpcError(code as Code, message, { details });
    },
    crash: async ({ text }) => {
      throw new Error(text);
    },
    wrong: () => ({ n: 0.5 }),
    wait: ({ text }, { signal }) =>
      new Promise((resolve, reject) => {
        witness.saw(`wait ${text}`);
        witness.release.set(text, () => resolve({ text }));
        signal.addEventListener("abort", () => {
          witness.saw(`aborted ${text} ${(signal.reason as RpcError).code}`);
          reject(signal.reason);
        });
      }),
    remaining: (_, { deadline }) => (deadline === undefined ? null : deadline - Date.now()),
    note: ({ text }) => {
      witness.saw(`note ${text}`);
      if (text === "bad") throw new Error("bad note");
    },
    async *items({ n, size = 0, failWith, open = false }, { signal }) {
      const aborted = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      const pad = size === 0 ? {} : { pad: "x".repeat(size) };
      try {
        for (let i = 0; i < n; i++) {
          witness.saw(`item ${i}`);
          yield { i, ...pad };
        }
        if (failWith !== undefined) throw new RpcError(failWith as Code, "after the items");
        if (open) await aborted;
      } finally {
        witness.saw(`left ${n}`);
      }
    },
    sum: async (input) => {
      let sum = 0;
      witness.saw("sum");
      try {
        for await (const n of input) {
          sum += n;
          if (n < 0) break;
        }
      } catch (error) {
        witness.saw(`sum ${(error as RpcError).code}`);
        throw error;
      }
      return sum;
    },
    async *chat(input) {
      yield "HELLO";
      try {
        for await (const text of input) {
          if (text === "fail") throw new RpcError("aborted", "as asked");
          if (text === "bye") return;
          yield text.toUpperCase();
        }
        yield "BYE";
      } finally {
        witness.saw("chat over");
      }
    },
    sink: async (input) => {
      witness.saw("sink");
      await new Promise<void>((resolve) => witness.release.set("sink", resolve));
      let count = 0;
      for await (const _ of input) count++;
      return count;
    },
    stall: async (_, { signal }) => {
      witness.saw("stall");
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      witness.saw(`stall ${(signal.reason as RpcError).code}`);
      return [];
    },
    async *enough(input) {
      const released = new Promise<void>((resolve) => witness.release.set("enough", resolve));
      for await (const _ of input) break;
      witness.saw("enough");
      await released;
      yield "enough";
    },
    callBack: async (input, { session }) => session.unary(methods.echo, input),
  });
}
