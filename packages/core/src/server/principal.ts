import type { CallContext, PrincipalOf } from "./context.js";

/**
 * Returns the principal of a call: the result of `principal`, or the connection value if it is a string; empty if
 * callers are not distinguished.
 *
 * @param unknown message of the error that is thrown if the principal cannot be determined
 */
export function principalOf(principal: PrincipalOf<never> | undefined, context: CallContext, unknown: string): string {
  if (principal !== undefined) return principal(context as CallContext<never>);
  const { connection } = context;
  if (connection === undefined) return "";
  if (typeof connection === "string") return connection;
  throw new Error(unknown);
}
