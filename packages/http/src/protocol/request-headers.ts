import { RpcError } from "@quicrpc/core";

/** Request header with the version of the protocol. */
export const VERSION_HEADER = "connect-protocol-version";
/** The only version. */
export const VERSION = "1";

/** Throws `RpcError` `invalid_argument` for another version. A request may omit it. */
export function requireVersion(value: string | undefined): void {
  if (value === undefined || value === VERSION) return;
  throw new RpcError("invalid_argument", `${VERSION_HEADER} is not "${VERSION}"`);
}

/** Request header with the caller's timeout in milliseconds. */
export const TIMEOUT_HEADER = "connect-timeout-ms";

/** Largest timeout that has ten digits, in milliseconds. */
const MAX_TIMEOUT_MS = 9_999_999_999;

/** Returns the header's value for a timeout. Longer timeouts are reduced to the largest one. */
export function writeTimeout(timeoutMs: number): string {
  return String(Math.min(Math.ceil(timeoutMs), MAX_TIMEOUT_MS));
}

/** Returns the timeout in milliseconds; undefined without the header. Throws `RpcError` `invalid_argument` if it is malformed. */
export function readTimeout(value: string | null | undefined): number | undefined {
  if (value === null || value === undefined) return undefined;
  if (/^\d{1,10}$/.test(value)) return Number(value);
  throw new RpcError("invalid_argument", `${TIMEOUT_HEADER} is not an integer of at most 10 digits`);
}
