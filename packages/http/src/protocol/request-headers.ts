import { RpcError } from "@quicrpc/core";

export const VERSION_HEADER = "connect-protocol-version";
/** The only version of the Connect protocol. */
export const VERSION = "1";

/**
 * Throws `RpcError` `invalid_argument` if a request states another version of the Connect protocol. The header may be
 * absent.
 */
export function requireVersion(value: string | undefined): void {
  if (value === undefined || value === VERSION) return;
  throw new RpcError("invalid_argument", `${VERSION_HEADER} is not "${VERSION}"`);
}

export const TIMEOUT_HEADER = "connect-timeout-ms";

/** Maximum timeout that the header can contain, in milliseconds: ten digits. */
const MAX_TIMEOUT_MS = 9_999_999_999;

export function writeTimeout(timeoutMs: number): string {
  return String(Math.min(Math.ceil(timeoutMs), MAX_TIMEOUT_MS));
}

/**
 * Parses the value of the header `TIMEOUT_HEADER`, in milliseconds; returns undefined if it is absent. Throws
 * `RpcError` `invalid_argument` if it is malformed.
 */
export function readTimeout(value: string | null | undefined): number | undefined {
  if (value === null || value === undefined) return undefined;
  if (/^\d{1,10}$/.test(value)) return Number(value);
  throw new RpcError("invalid_argument", `${TIMEOUT_HEADER} is not an integer of at most 10 digits`);
}
