import { TransportError } from "@quicrpc/core";
import { QuicError } from "@quicrpc/quic";
import { isMissingEngine } from "./transport/failure.js";

/** Codes of certificate errors of Node's `tls`, and of host names that do not exist. A retry cannot succeed. */
const CODES: RegExp = /^(ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_MISMATCH|ENOTFOUND$)/;

/**
 * Returns true if a connection failure is permanent: the cause is in the URL, the trusted certificates or the protocol,
 * so a retry cannot succeed.
 */
export function isPermanent(failure: Error): boolean {
  const error = failure instanceof TransportError && failure.cause instanceof Error ? failure.cause : failure;
  if (error instanceof TypeError) return true;
  if (error instanceof AggregateError) return error.errors.every(isPermanent);
  if (error instanceof QuicError && (error.source === "tls" || error.source === "usage")) return true;
  const { code, status, permanent } = error as NodeJS.ErrnoException &
    Readonly<Record<"status" | "permanent", unknown>>;
  // A custom provider can decide this itself.
  if (permanent === true) return true;
  if (typeof status === "number") return refuses(status);
  return typeof code === "string" && (CODES.test(code) || isMissingEngine(error));
}

/** Returns true if an HTTP status rejects the request itself, so that a retry cannot succeed (RFC 9110 §15.5). */
function refuses(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}
