import { type AnyMethod, fullName } from "../contract/descriptor.js";
import { streamsInput, streamsOutput } from "../contract/directions.js";
import { RpcError } from "../errors.js";
import type { CallContext } from "../server/context.js";
import type { Awaitable } from "../server/router.js";
import type { InterceptedCall, Interceptor } from "./interceptor.js";

/** The callers of a method: everybody, or those who are known and have all of these scopes. */
type Permission = "public" | readonly string[];

/** A call as its callee sees it; `Context` is what `authenticate` returns. */
type AuthorizedCall<Context> = InterceptedCall & { readonly context: CallContext<Context> };

/** Options of `authorize`. */
interface AuthorizeOptions<Context = unknown> {
  /** Returns the scopes of who calls; undefined where nobody is known. */
  readonly scopesOf: (call: AuthorizedCall<Context>) => Awaitable<Iterable<string> | undefined>;
  /**
   * Returns who may call a method. Default, by its `meta`: everybody for `auth: "public"`, those who have them all for `scopes: ["orders:write"]`,
   * and whoever is known for neither.
   */
  readonly permissionOf?: (method: AnyMethod) => Permission;
}

/**
 * Lets calls through that the schema permits their caller. Others fail with `unauthenticated` where nobody is known, or `permission_denied`,
 * which names the scopes that are missing. Streams are held to it again whenever their client's credentials are renewed. For callees: `authorize<User>({
 * scopesOf: ({ context }) => context.connection.scopes })`, where `authenticate` returns a `User`.
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
    if (scopes === undefined) throw new RpcError("unauthenticated", `${name} is for callers that are known`);
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

/** Returns what the `meta` of a method asks for. Throws `TypeError` where it is none of what it may be, so that a slip permits nothing. */
function permissionOfMeta(method: AnyMethod): Permission {
  const { auth, scopes = [] } = (method.meta ?? {}) as { readonly auth?: unknown; readonly scopes?: unknown };
  if (!Array.isArray(scopes) || !scopes.every((scope) => typeof scope === "string")) {
    throw new TypeError(`meta.scopes of ${fullName(method)} is no list of text`);
  }
  if (auth !== "public") return scopes;
  if (scopes.length > 0) throw new TypeError(`meta of ${fullName(method)} says both that it is public and its scopes`);
  return "public";
}
