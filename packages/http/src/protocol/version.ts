import { RpcError } from "@quicrpc/core";

/** The header of a request that says which version of the protocol it is written in. */
export const VERSION_HEADER = "connect-protocol-version";
/** The only version that there is. */
export const VERSION = "1";

/** Throws `RpcError` `invalid_argument` for another version than ours; a request need not say which. */
export function requireVersion(value: string | undefined): void {
  if (value === undefined || value === VERSION) return;
  throw new RpcError("invalid_argument", `${VERSION_HEADER} is not "${VERSION}"`);
}
