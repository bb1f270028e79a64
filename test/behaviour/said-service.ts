import { type CallContext, type Code, RpcError, type Router } from "@quicrpc/core";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";

const service = { name: "test.v1.Said", id: 4662 };

/** Instructions of one call. */
export interface Order {
  /** Number of items to return, if the method streams. */
  readonly n: number;
  readonly failWith?: Code | undefined;
  /** Send the response metadata ahead, and then wait for the call's end. */
  readonly early?: boolean;
}

const order = uncheckedCodec<Order>();
const number = uncheckedCodec<number>();

/** A method of each kind that says back, as response metadata and as trailers, what the caller said. */
export const said = {
  unary: defineMethod(service, "unary", "unary", { id: 1, input: order, output: number }),
  serverStream: defineMethod(service, "server_stream", "serverStream", { id: 2, input: order, output: number }),
  clientStream: defineMethod(service, "client_stream", "clientStream", { id: 3, input: order, output: number }),
  duplex: defineMethod(service, "duplex", "duplex", { id: 4, input: order, output: number }),
  note: defineMethod(service, "notify", "note", { id: 5, input: order }),
};

function sayBack({ metadata, responseMetadata, trailers }: CallContext): void {
  for (const [key, value] of metadata) {
    responseMetadata.append(key, value);
    const trailing: string = `trailing-${key}`;
    trailers.append(trailing, value);
  }
}

function failIfTold({ failWith }: Order): void {
  if (failWith !== undefined) throw new RpcError(failWith, "as told", { metadata: { "from-error": ["1", "2"] } });
}

async function* give(order: Order, context: CallContext): AsyncIterable<number> {
  if (order.early === true) {
    context.sendResponseMetadata();
    await new Promise((resolve) => context.signal.addEventListener("abort", resolve));
  }
  for (let i = 0; i < order.n; i++) yield i;
  failIfTold(order);
}

/** @param onNote told of the metadata of a notification */
export function saidRouter(onNote: (text: string) => void): Router {
  return createRouter(said, {
    unary: async (order, context) => {
      sayBack(context);
      for await (const _ of give({ ...order, n: 0 }, context));
      return order.n;
    },
    serverStream: (order, context) => {
      sayBack(context);
      return give(order, context);
    },
    clientStream: async (orders, context) => {
      sayBack(context);
      let sum = 0;
      for await (const order of orders) {
        failIfTold(order);
        sum += order.n;
      }
      return sum;
    },
    async *duplex(orders, context) {
      sayBack(context);
      for await (const order of orders) yield* give(order, context);
    },
    note: (_, { metadata }) => onNote(`note ${metadata.getAll("key").join()}`),
  });
}
