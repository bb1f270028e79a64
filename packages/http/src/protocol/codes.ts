import type { Code } from "@quicrpc/core";
import { isCode } from "@quicrpc/core/internal";

/** HTTP statuses that the Connect protocol assigns to the codes of failed calls. */
const STATUSES: Readonly<Record<Code, number>> = {
  cancelled: 499,
  unknown: 500,
  invalid_argument: 400,
  deadline_exceeded: 504,
  not_found: 404,
  already_exists: 409,
  permission_denied: 403,
  resource_exhausted: 429,
  failed_precondition: 400,
  aborted: 409,
  out_of_range: 400,
  unimplemented: 501,
  internal: 500,
  unavailable: 503,
  data_loss: 500,
  unauthenticated: 401,
};

export const CODE_NAMES: readonly string[] = (Object.keys(STATUSES) as Code[]).map(codeName);

/** Codes that the Connect protocol assigns to the status of a response without an explicit code. */
const INFERRED: ReadonlyMap<number, Code> = new Map([
  [400, "internal"],
  [401, "unauthenticated"],
  [403, "permission_denied"],
  [404, "unimplemented"],
  [429, "unavailable"],
  [502, "unavailable"],
  [503, "unavailable"],
  [504, "unavailable"],
]);

export function statusOf(code: Code): number {
  return STATUSES[isCode(code) ? code : "unknown"];
}

/** Returns the code for a response with an error status that contains no Connect error, such as a proxy's response. */
export function codeOfStatus(status: number): Code {
  return INFERRED.get(status) ?? "unknown";
}

/**
 * Returns the name of a code in JSON; Connect spells "canceled" with one l. A code that is not known becomes `unknown`.
 */
export function codeName(code: Code): string {
  if (!isCode(code)) return "unknown";
  return code === "cancelled" ? "canceled" : code;
}

/** Returns the code with this name in JSON; undefined if there is none. */
export function codeNamed(name: unknown): Code | undefined {
  if (name === "canceled") return "cancelled";
  return isCode(name) ? name : undefined;
}
