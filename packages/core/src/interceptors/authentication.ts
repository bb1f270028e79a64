import { RpcError } from "../errors.js";
import type { CallContext } from "../server/context.js";
import type { Awaitable } from "../server/router.js";
import type { InterceptedCall, Interceptor } from "./interceptor.js";

/** A value that an interceptor stores for each call, for its handler to read. */
export class ContextValue<T> {
  readonly name: string;
  readonly #values: WeakMap<CallContext, { readonly value: T }> = new WeakMap();

  /** @param name name of the value in error messages */
  constructor(name: string) {
    this.name = name;
  }

  set(context: CallContext, value: T): void {
    this.#values.set(context, { value });
  }

  /** Returns the value of this call. Throws `Error` if no interceptor has set it. */
  get(context: CallContext): T {
    const entry = this.#values.get(context);
    if (entry === undefined) throw new Error(`no interceptor has set ${this.name} for ${context.method.name}`);
    return entry.value;
  }
}

/**
 * Returns an interceptor for callers that adds the metadata `authorization: Bearer …` to calls that do not have it.
 *
 * @param token the token, or a function that returns it for each call
 */
export function bearerToken(token: string | (() => Awaitable<string>)): Interceptor {
  return async (call, next) => {
    if (!call.metadata.has("authorization")) {
      call.metadata.set("authorization", `Bearer ${typeof token === "function" ? await token() : token}`);
    }
    return next(call);
  };
}

export interface AuthenticationOptions<Identity> {
  /**
   * Verifies a token and returns the caller's identity. If it returns undefined or throws, the call fails with
   * `unauthenticated`; if it throws an `RpcError`, the caller receives that error.
   */
  readonly verify: (token: string, call: InterceptedCall) => Awaitable<Identity | undefined>;
  /** The `ContextValue` in which to store the identity for handlers. Default: handlers cannot read it. */
  readonly identity?: ContextValue<Identity>;
  /** Returns true for calls that are allowed without a token. Default: all calls need a token. */
  readonly isPublic?: (call: InterceptedCall) => boolean;
}

/** Returns an interceptor for servers. Calls without a valid bearer token fail with `unauthenticated`. */
export function authentication<Identity>({
  verify,
  identity,
  isPublic = () => false,
}: AuthenticationOptions<Identity>): Interceptor {
  return async (call, next) => {
    if (isPublic(call)) return next(call);
    const token = /^bearer +(\S+)$/i.exec(call.metadata.get("authorization") ?? "")?.[1];
    if (token === undefined) throw new RpcError("unauthenticated", "a bearer token is missing");
    const caller = await verified(verify, token, call);
    if (call.context !== undefined) identity?.set(call.context, caller);
    return next(call);
  };
}

async function verified<Identity>(
  verify: AuthenticationOptions<Identity>["verify"],
  token: string,
  call: InterceptedCall,
): Promise<Identity> {
  let caller: Identity | undefined;
  try {
    caller = await verify(token, call);
  } catch (error) {
    if (error instanceof RpcError) throw error;
    throw new RpcError("unauthenticated", "the bearer token is not valid", { cause: error });
  }
  if (caller === undefined) throw new RpcError("unauthenticated", "the bearer token is not valid");
  return caller;
}
