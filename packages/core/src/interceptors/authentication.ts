import { RpcError } from "../errors.js";
import type { CallContext } from "../server/context.js";
import type { Awaitable } from "../server/router.js";
import type { InterceptedCall, Interceptor } from "./interceptor.js";

/** A value that interceptors leave for handlers, call by call. */
export class ContextValue<T> {
  readonly name: string;
  readonly #values: WeakMap<CallContext, { readonly value: T }> = new WeakMap();

  /** @param name for error messages */
  constructor(name: string) {
    this.name = name;
  }

  set(context: CallContext, value: T): void {
    this.#values.set(context, { value });
  }

  /** Throws when no interceptor has set it. */
  get(context: CallContext): T {
    const entry = this.#values.get(context);
    if (entry === undefined) throw new Error(`no interceptor has set ${this.name} for ${context.method.name}`);
    return entry.value;
  }
}

/** Sends `authorization: Bearer …` with each call that has no authorization of its own. For callers. */
export function bearerToken(token: string | (() => Awaitable<string>)): Interceptor {
  return async (call, next) => {
    if (!call.metadata.has("authorization")) {
      call.metadata.set("authorization", `Bearer ${typeof token === "function" ? await token() : token}`);
    }
    return next(call);
  };
}

/** Options of `authentication`. */
export interface AuthenticationOptions<Identity> {
  /** Returns who the token stands for; undefined, or a failure, is `unauthenticated`. An `RpcError` reaches the caller as it is. */
  readonly verify: (token: string, call: InterceptedCall) => Awaitable<Identity | undefined>;
  /** Where handlers find who calls: a `ContextValue` of the application. Default: handlers do not learn it. */
  readonly identity?: ContextValue<Identity>;
  /** Calls that need no token. Default: none. */
  readonly isPublic?: (call: InterceptedCall) => boolean;
}

/** Lets calls through that have a valid bearer token. For callees. */
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
