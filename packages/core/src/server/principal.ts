import type { CallContext, PrincipalOf } from "./context.js";

/**
 * Whose a call is: as `principal` says, or the connection's value where that is text; empty where callers are not distinguished.
 *
 * @param unknown the message of the error that is thrown where it is not known
 */
export function principalOf(principal: PrincipalOf<never> | undefined, context: CallContext, unknown: string): string {
  if (principal !== undefined) return principal(context as CallContext<never>);
  const { connection } = context;
  if (connection === undefined) return "";
  if (typeof connection === "string") return connection;
  throw new Error(unknown);
}
