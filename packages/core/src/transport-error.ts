/** Options of a `TransportError`. */
export interface TransportErrorInit {
  readonly code: string;
  readonly url: string;
  readonly message: string;
  readonly hint?: string | undefined;
  readonly cause?: unknown;
}

/**
 * A failure to connect or to listen: `connect`, `dial` and `serve` reject with it, in Node and in browsers. Invalid
 * arguments, such as an unknown option, are a `TypeError` instead.
 */
export class TransportError extends Error {
  override readonly name = "TransportError";
  /** The error that caused this one. Declared here for programs whose `lib` is older than ES2022. */
  declare cause?: unknown;
  /** A stable code: of the system (`ECONNREFUSED`), of TLS (`CERT_HAS_EXPIRED`) or of the transport (`ERR_QUIC_ALPN_MISMATCH`). */
  readonly code: string;
  /** The address, without the parts of a URL that may be secret. */
  readonly url: string;
  /** A sentence that says what can be done, if known. */
  readonly hint: string | undefined;

  constructor({ code, url, message, hint, cause }: TransportErrorInit) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.url = url;
    this.hint = hint;
  }
}

/** Returns a URL for messages: without user, password, query and fragment, which may be secret. */
export function publicUrl({ protocol, host, pathname }: URL): string {
  return host === "" ? `${protocol}${pathname}` : `${protocol}//${host}${pathname === "/" ? "" : pathname}`;
}
