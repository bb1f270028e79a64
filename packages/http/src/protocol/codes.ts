import type { Code } from "@quicrpc/core";
import { isCode } from "@quicrpc/core/generated";

/** The HTTP status of an answer that fails with each code, in the Connect protocol. */
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

/** The names of all codes in JSON. */
export const CODE_NAMES: readonly string[] = (Object.keys(STATUSES) as Code[]).map(codeName);

/** The codes that the Connect protocol infers from the status of an answer that names none. */
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

/** Returns the HTTP status of a unary answer that fails with `code`; for a code that does not exist, that of `unknown`. */
export function statusOf(code: Code): number {
  return STATUSES[isCode(code) ? code : "unknown"];
}

/** Returns the code of an answer with an error's status and no error of the Connect protocol, such as a proxy's. */
export function codeOfStatus(status: number): Code {
  return INFERRED.get(status) ?? "unknown";
}

/** Returns the spelling of a code in JSON: Connect writes "canceled". A code that does not exist is `unknown`. */
export function codeName(code: Code): string {
  if (!isCode(code)) return "unknown";
  return code === "cancelled" ? "canceled" : code;
}

/** Returns the code of a name in JSON; undefined for what is no code. */
export function codeNamed(name: unknown): Code | undefined {
  if (name === "canceled") return "cancelled";
  return isCode(name) ? name : undefined;
}
