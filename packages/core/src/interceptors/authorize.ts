import { streamsInput, streamsOutput } from "../call/messages/payload.js";
import { type AnyMethod, fullName } from "../contract/descriptor.js";
import { RpcError } from "../errors.js";
import type { CallContext } from "../server/context.js";
import type { Awaitable } from "../server/router.js";
import type { InterceptedCall, Interceptor } from "./interceptor.js";

/** Who may call a method: everybody ("public"), or authenticated callers that have all of these scopes. */
type Permission = "public" | readonly string[];

/** A call that a server receives. `Context` is the type that `authenticate` returns. */
type AuthorizedCall<Context> = InterceptedCall & { readonly context: CallContext<Context> };

interface AuthorizeOptions<Context = unknown> {
  /** Returns the caller's scopes, or undefined if the caller is not authenticated. */
  readonly scopesOf: (call: AuthorizedCall<Context>) => Awaitable<Iterable<string> | undefined>;
  /**
   * Returns who may call a method. Default: depends on the `meta` of the method. `auth: "public"` permits everybody;
   * `scopes: ["orders:write"]` permits callers with all of these scopes; otherwise every authenticated caller is
   * permitted.
   */
  readonly permissionOf?: (method: AnyMethod) => Permission;
}

/**
 * Returns an interceptor for servers that checks the caller's scopes. A call without permission fails with
 * `unauthenticated` if the caller is not authenticated, otherwise with `permission_denied` and the names of the missing
 * scopes. Streams are checked again each time that their client renews its credentials.
 *
 * @example
 * // if `authenticate` returns a `User`
 * authorize<User>({ scopesOf: ({ context }) => context.connection.scopes });
 */
export function authorize<Context = unknown>({
  scopesOf,
  permissionOf = permissionOfMeta,
}: AuthorizeOptions<Context>): Interceptor {
  const check = async (call: AuthorizedCall<Context>): Promise<void> => {
    const permission = permissionOf(call.method);
    if (permission === "public") return;
    const scopes = await scopesOf(call);
    const name = fullName(call.method);
    if (scopes === undefined) throw new RpcError("unauthenticated", `${name} requires authentication`);
    const had = new Set(scopes);
    const missing = permission.filter((scope) => !had.has(scope));
    if (missing.length > 0) throw new RpcError("permission_denied", `${name} needs ${missing.join(" and ")}`);
  };
  return async (call, next) => {
    const { method, context } = call;
    if (context === undefined) throw new TypeError("authorize() is an interceptor of servers: callers have no scopes");
    await check(call as AuthorizedCall<Context>);
    if (streamsInput(method) || streamsOutput(method)) {
      context.onRenewal((renewed) => check({ ...call, context: renewed as CallContext<Context> }));
    }
    return next(call);
  };
}

/**
 * Returns the permission that the `meta` of a method declares. Throws `TypeError` if `meta` is malformed, so that a
 * typing mistake does not grant access.
 */
function permissionOfMeta(method: AnyMethod): Permission {
  const { auth, scopes = [] } = (method.meta ?? {}) as { readonly auth?: unknown; readonly scopes?: unknown };
  if (!Array.isArray(scopes) || !scopes.every((scope) => typeof scope === "string")) {
    throw new TypeError(`meta.scopes of ${fullName(method)} is not a list of strings`);
  }
  if (auth !== "public") return scopes;
  if (scopes.length > 0) throw new TypeError(`meta of ${fullName(method)} has both auth: "public" and scopes`);
  return "public";
}
