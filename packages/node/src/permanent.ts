import { TransportError } from "@quicrpc/core";
import { QuicError } from "@quicrpc/quic";
import { isMissingEngine } from "./transport/failure.js";

/** OpenSSL's certificate errors, which Node's `tls` reports as `code`, and host names that do not exist. */
const CODES: RegExp = /^(ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_MISMATCH|ENOTFOUND$)/;

/**
 * Returns true if a connection failure is permanent: its cause is in the arguments (URL, trust, protocol), so a retry
 * cannot succeed.
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

/** Returns true if an HTTP status refers to the request itself rather than to the moment (RFC 9110 §15.5). */
function refuses(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}
