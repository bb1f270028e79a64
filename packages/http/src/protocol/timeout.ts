import { RpcError } from "@quicrpc/core";

/** The header of a request that says how many milliseconds its caller waits. */
export const TIMEOUT_HEADER = "connect-timeout-ms";

/** The largest timeout that ten digits can say. */
const MAX_TIMEOUT_MS = 9_999_999_999;

/** Returns the header's value for a timeout; the largest that can be written for what is longer. */
export function writeTimeout(timeoutMs: number): string {
  return String(Math.min(Math.ceil(timeoutMs), MAX_TIMEOUT_MS));
}

/** Returns the milliseconds; undefined without the header. Throws `RpcError` `invalid_argument` for what is no timeout. */
export function readTimeout(value: string | null | undefined): number | undefined {
  if (value === null || value === undefined) return undefined;
  if (/^\d{1,10}$/.test(value)) return Number(value);
  throw new RpcError("invalid_argument", `${TIMEOUT_HEADER} is not an integer of at most 10 digits`);
}
