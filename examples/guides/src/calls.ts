// Metadata and options of calls: see docs/calls.md.
import {
  authentication,
  type Caller,
  type Connection,
  ContextValue,
  createCaller,
  createLocalCaller,
  defaultTimeout,
  type Interceptor,
  interceptRouter,
  isRpcErrorOf,
  observeResponse,
  retry,
  type Router,
  rpcError,
  type Session,
} from "@quicrpc/core";
import { connect, serve, type Server } from "@quicrpc/node";
import { type ArithClient, arithMethods, createArithClient, createArithRouter } from "./generated/arith.js";

export interface User {
  readonly name: string;
}

export function start(caller: Caller): Promise<{ pro: number }> {
  const options = { timeoutMs: 1000 };
  // #region start
  const answer = caller.start(arithMethods.multiply, { a: 9, b: 2 }, options);
  // #endregion start
  return answer;
}

export function clientOf(session: Session): ArithClient {
  // #region caller
  const caller = createCaller((method, input, options) =>
    session.start(method, input, { ...options, timeoutMs: 1000 }),
  );
  const arith = createArithClient(caller);
  // #endregion caller
  return arith;
}

export const arithRouter: Router = createArithRouter({
  // #region handler
  multiply: ({ a, b }, context) => {
    context.metadata.get("authorization"); // string | undefined
    context.metadata.getAll("tag"); // string[]
    context.responseMetadata.set("served-by", "eu-1"); // before the answer, or the first item
    context.trailers.set("cost", "3"); // at the end, also after an error
    return { pro: a * b };
  },
  // #endregion handler
  divide({ a, b }) {
    // #region throw
    if (b === 0) throw rpcError(arithMethods.divide, "DIVIDE_BY_ZERO", { a }, { message: "cannot divide by zero" });
    // #endregion throw
    return { quo: Math.trunc(a / b) };
  },
});

export function forwarding(payments: ArithClient): Router {
  return createArithRouter({
    // #region parent
    multiply: (input, context) => payments.multiply(input, { parent: context }),
    // #endregion parent
    divide: (input, context) => payments.divide(input, { parent: context }),
  });
}

export function local(user: User, interceptors: readonly Interceptor[]): ArithClient {
  // #region local
  const arith = createArithClient(createLocalCaller([arithRouter], { connection: user, interceptors }));
  // #endregion local
  return arith;
}

export async function multiply(arith: ArithClient, bytes: Uint8Array): Promise<number> {
  const input = { a: 9, b: 2 };
  // #region metadata
  const { pro } = await arith.multiply(input, {
    metadata: { authorization: "Bearer …", "trace-bin": bytes, tag: ["a", "b"] },
    onResponseMetadata: (metadata) => console.log(metadata.get("served-by")),
    onTrailers: (trailers) => console.log(trailers.get("cost")),
  });
  // #endregion metadata
  return pro;
}

export async function dividend(arith: ArithClient, input: { a: number; b: number }): Promise<number | string> {
  // #region catch
  try {
    return (await arith.divide(input)).quo;
  } catch (error) {
    if (!isRpcErrorOf(arithMethods.divide, error)) throw error;
    switch (error.reason) {
      case "DIVIDE_BY_ZERO":
        return `${error.details.a} / 0`; // a number
      case "TOO_LARGE":
        return `more than ${error.details.max}`;
      case "CLOSED":
        return "come back tomorrow";
    }
  }
  // #endregion catch
}

export async function timed(
  listen: string,
  record: (method: { readonly name: string }, ms: number) => void,
): Promise<{ server: Server; connection: Connection }> {
  const routers = [arithRouter];
  // #region timing
  const timing: Interceptor = async (call, next) => {
    const start = performance.now();
    const answer = await next(call);
    return observeResponse(answer, { onOver: () => record(call.method, performance.now() - start) });
  };

  const server = await serve({ listen, routers, interceptors: [timing] });
  const connection = await connect(server.urls[0] ?? "", { interceptors: [timing, retry(), defaultTimeout(1000)] });
  // #endregion timing
  return { server, connection };
}

/** Greets the user of a token. */
export function whoRouter(userOf: (token: string) => User): Router {
  // #region value
  const user = new ContextValue<User>("user");
  const router = createArithRouter({
    multiply: ({ a, b }) => ({ pro: a * b }),
    divide: (_, context) => ({ quo: user.get(context).name.length }), // in a handler
  });
  const identified = interceptRouter(router, [authentication({ verify: (token) => userOf(token), identity: user })]);
  // #endregion value
  return identified;
}
