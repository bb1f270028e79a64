/** Fields of a `TransportError`. */
export interface TransportErrorInit {
  readonly code: string;
  readonly url: string;
  readonly message: string;
  readonly hint?: string | undefined;
  readonly cause?: unknown;
}

/**
 * A failure to connect or to listen: what `connect`, `dial` and `serve` reject with, in Node and in pages. What cannot be used
 * as it was given, such as an unknown option, is a `TypeError` instead.
 */
export class TransportError extends Error {
  override readonly name = "TransportError";
  /** The error that led to this one. Programs whose `lib` is older than ES2022 see it too. */
  declare cause?: unknown;
  /** Stable: the system's (`ECONNREFUSED`), that of TLS (`CERT_HAS_EXPIRED`) or of the transport (`ERR_QUIC_ALPN_MISMATCH`). */
  readonly code: string;
  /** The address, without what may be secret in a URL. */
  readonly url: string;
  /** A sentence about what can be done, where that is known. */
  readonly hint: string | undefined;

  constructor({ code, url, message, hint, cause }: TransportErrorInit) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.url = url;
    this.hint = hint;
  }
}

/** A URL for messages: without user, password, query and fragment, which may be secret. */
export function publicUrl({ protocol, host, pathname }: URL): string {
  return host === "" ? `${protocol}${pathname}` : `${protocol}//${host}${pathname === "/" ? "" : pathname}`;
}
