import { TransportError } from "@quicrpc/core";
import { QuicError } from "@quicrpc/quic";
import { isMissingEngine } from "./transport/failure.js";

/** OpenSSL's verdicts on a certificate, as Node's `tls` has them in an error's `code`, and names that do not exist. */
const CODES: RegExp = /^(ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_MISMATCH|ENOTFOUND$)/;

/** Whether a failure to connect lies in what was given (the URL, the trust, the protocol), so that waiting cannot mend it. */
export function isPermanent(given: Error): boolean {
  const error = given instanceof TransportError && given.cause instanceof Error ? given.cause : given;
  if (error instanceof TypeError) return true;
  if (error instanceof AggregateError) return error.errors.every(isPermanent);
  if (error instanceof QuicError && (error.source === "tls" || error.source === "usage")) return true;
  const { code, status, permanent } = error as NodeJS.ErrnoException &
    Readonly<Record<"status" | "permanent", unknown>>;
  // A provider of the application's own says so itself.
  if (permanent === true) return true;
  if (typeof status === "number") return refuses(status);
  return typeof code === "string" && (CODES.test(code) || isMissingEngine(error));
}

/** Whether an HTTP status answers the request itself, rather than the moment (RFC 9110 §15.5). */
function refuses(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}
