import type { RpcError } from "@quicrpc/core";
import type { ByteBody } from "../protocol/body.js";
import type { RequestBytes } from "./request-bytes.js";

/** The status and header fields of a response. */
export interface AnswerHead {
  readonly status: number;
  /** Fields of the protocol, by lower-case name. */
  readonly fields: Readonly<Record<string, string>>;
  /** Metadata, and other fields with any name or value that HTTP allows. */
  readonly metadata?: Headers | undefined;
  /** Whether trailers will follow the body. Only for exchanges that support them. */
  readonly trailers?: boolean;
}

/** The body of a response that is sent in pieces. */
export interface AnswerBody {
  /** Whether the client can receive more at present. */
  readonly ready: boolean;
  write(bytes: Uint8Array): void;
  /** Calls `resume` once when `ready`, or when the client has disconnected. */
  whenReady(resume: () => void): void;
  /** @param trailers only if the head announced them */
  end(trailers?: Headers): void;
}

/**
 * One HTTP request and its response, for any kind of server. It is answered once, by `respond` or by `open`; both do
 * nothing if the client has disconnected.
 */
export interface HttpExchange {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** The host and port that the client addressed. */
  readonly authority: string | undefined;
  /** Whether the response may have trailers. Default: false. */
  readonly supportsTrailers?: boolean;
  /** Whether it arrived over TLS. */
  readonly isSecure: boolean;
  /** Whether it is known to have arrived at a loopback address, as at a development server. */
  readonly isLoopback: boolean;
  /** The platform's request. */
  readonly request: unknown;
  /** The client's address, if the server reports it. */
  readonly peer: string | undefined;
  /** Returns the value of a header field, by its lower-case name. */
  header(name: string): string | undefined;
  /** All header fields. */
  readonly headers: Headers;
  readonly body: ByteBody | null;
  /** Charged for unread bytes of the body, if this side buffers them. */
  unread: Pick<RequestBytes, "change"> | undefined;
  /**
   * Resolves when a body that arrived together with the head may be available to `arrivedBody`. Undefined if that
   * cannot be known, or is not worth another attempt.
   */
  arrival?(): Promise<void> | undefined;
  /** Takes the body if all of it has arrived; otherwise returns undefined. */
  arrivedBody?(): Uint8Array | undefined;
  /**
   * Reads the body to its end. Rejects with the exception of `hold`, which receives the size of each piece, with
   * `resource_exhausted` for more than `maxBytes`, and if the client has disconnected.
   */
  readBody(maxBytes: number, hold: (bytes: number) => void): Promise<Uint8Array>;
  /** Releases the body: a read in progress fails with the error, and bytes that still arrive are dropped. */
  dropBody(error: RpcError): void;
  /** Sends an interim response (1xx), if the platform supports it. */
  inform?(status: number, fields: Readonly<Record<string, string>>): void;
  /** Answers with a complete body. */
  respond(head: AnswerHead, body?: Uint8Array | string): void;
  /** Answers with a body in pieces. For a HEAD request the pieces would not be read: use `respond`. */
  open(head: AnswerHead): AnswerBody;
  /** Fields that are added to every response; undefined for none. */
  added: Readonly<Record<string, string>> | undefined;
  /** Whether the client has disconnected. */
  readonly isGone: boolean;
  /** Called once when the client disconnects before its response was complete. */
  onGone: (() => void) | undefined;
  /** Called once when the whole response was handed over, or the client has disconnected. */
  onEnd: (() => void) | undefined;
  /** Ends the request without the rest of its response. */
  cutOff(error: RpcError): void;
}

/**
 * Returns whether a request is a GET or a HEAD. Both have the same response fields, because caches may store either.
 */
export function isGet({ method }: Pick<HttpExchange, "method">): boolean {
  return method === "GET" || method === "HEAD";
}

/** Returns the fields of a response, including those of every response to the request. */
export function fieldsWith(
  fields: Readonly<Record<string, string>>,
  added: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> {
  if (added === undefined) return fields;
  const vary = [added["vary"], fields["vary"]].filter((value) => value !== undefined).join(", ");
  return { ...fields, ...added, ...(vary !== "" && { vary }) };
}

/** Splits a target in absolute form, which names the server too (RFC 9112 §3.2.2); undefined for any other. */
export function splitAbsolute(target: string): { readonly authority: string; readonly target: string } | undefined {
  if (target.startsWith("/")) return undefined;
  const [, authority, rest = ""] = /^https?:\/\/([^/?#]+)([^#]*)/i.exec(target) ?? [];
  return authority === undefined ? undefined : { authority, target: rest.startsWith("/") ? rest : `/${rest}` };
}

/** Splits a target into its path and its query, without the "?". */
export function splitTarget(target: string): { readonly path: string; readonly query: string } {
  const at = target.indexOf("?");
  return at < 0 ? { path: target, query: "" } : { path: target.slice(0, at), query: target.slice(at + 1) };
}
