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
