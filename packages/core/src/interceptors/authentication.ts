import { RpcError } from "../errors.js";
import type { CallContext } from "../server/context.js";
import type { Awaitable } from "../server/router.js";
import type { InterceptedCall, Interceptor } from "./interceptor.js";

/** A value that interceptors set for the handler of a call. */
export class ContextValue<T> {
  readonly name: string;
  readonly #values: WeakMap<CallContext, { readonly value: T }> = new WeakMap();

  /** @param name the name in error messages */
  constructor(name: string) {
    this.name = name;
  }

  set(context: CallContext, value: T): void {
    this.#values.set(context, { value });
  }

  /** Returns the value for this call. Throws if no interceptor has set it. */
  get(context: CallContext): T {
    const entry = this.#values.get(context);
    if (entry === undefined) throw new Error(`no interceptor has set ${this.name} for ${context.method.name}`);
    return entry.value;
  }
}

/** Returns an interceptor for callers that adds `authorization: Bearer …` to calls without that metadata. */
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
  /**
   * Returns the identity that the token proves. If it returns undefined or fails, the call is `unauthenticated`; an
   * `RpcError` is sent to the caller unchanged.
   */
  readonly verify: (token: string, call: InterceptedCall) => Awaitable<Identity | undefined>;
  /** Receives the identity, for handlers to read: a `ContextValue` of the application. Default: handlers cannot read it. */
  readonly identity?: ContextValue<Identity>;
  /** Returns true for calls that need no token. Default: none. */
  readonly isPublic?: (call: InterceptedCall) => boolean;
}

/** Returns an interceptor for callees that admits only calls with a valid bearer token. */
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
