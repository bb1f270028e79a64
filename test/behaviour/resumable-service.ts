import type { RpcError } from "@quicrpc/core";
import { createRouter, defineMethod, type Router, uncheckedCodec } from "@quicrpc/core/generated";
import { durableRouter, resumableCalls } from "@quicrpc/durable/generated";

const service = { name: "test.v1.Resumable", id: 4721 };
const number = uncheckedCodec<number>();
const numbers = { input: number, output: number };
/** Idempotent: a call is also begun again that its server may have seen, or not. */
const resumed = { extension: resumableCalls, idempotent: true } as const;

/** Streams of every kind that outlive their sessions. */
export const resumable = {
  count: defineMethod(service, "server_stream", "count", { id: 1, ...numbers, ...resumed }),
  collect: defineMethod(service, "client_stream", "collect", {
    id: 2,
    input: number,
    output: uncheckedCodec<number[]>(),
    ...resumed,
  }),
  echo: defineMethod(service, "duplex", "echo", { id: 3, ...numbers, ...resumed }),
};

/** The service's handlers, which count what they do. */
export class Handlers {
  entered = 0;
  open = 0;
  /** Errors that handlers throw after their items. */
  failure: RpcError | undefined = undefined;
  readonly router: Router;

  constructor() {
    this.router = durableRouter(
      createRouter(resumable, {
        count: (upTo, context) => {
          context.trailers.set("sum", String((upTo * (upTo + 1)) / 2));
          context.responseMetadata.set("asked", String(upTo));
          return this.run(async function* () {
            for (let i = 1; i <= upTo; i++) yield i;
          });
        },
        collect: async (items) => {
          const all: number[] = [];
          for await (const item of this.run(() => items.values())) all.push(item);
          return all;
        },
        echo: (items) =>
          this.run(async function* () {
            for await (const item of items) yield item;
          }),
      }),
    );
  }

  private async *run(items: () => AsyncIterable<number>): AsyncGenerator<number> {
    this.entered++;
    this.open++;
    try {
      yield* items();
      if (this.failure !== undefined) throw this.failure;
    } finally {
      this.open--;
    }
  }
}

export function upTo(last: number): number[] {
  return Array.from({ length: last }, (_, index) => index + 1);
}
