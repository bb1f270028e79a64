import type { RpcError } from "@quicrpc/core";
import type { ByteBody } from "../protocol/body.js";
import type { RequestBytes } from "./request-bytes.js";

/** Header fields or trailers, by lower-case names that may repeat. */
export type Fields = Iterable<readonly [name: string, value: string]>;

export interface AnswerHead {
  readonly status: number;
  /** Header fields of the protocol, by lower-case name. */
  readonly fields: Readonly<Record<string, string>>;
  /** Metadata, and other header fields with any name or value that HTTP allows. */
  readonly metadata?: Fields | undefined;
  /** True if trailers follow the body. Only for requests with `supportsTrailers`. */
  readonly trailers?: boolean;
}

export interface AnswerBody {
  /** False while the client has not read enough of the data already sent. */
  readonly ready: boolean;
  write(bytes: Uint8Array): void;
  /** Calls `resume` once, when `ready` is true or the client has disconnected. */
  whenReady(resume: () => void): void;
  /**
   * Ends the body.
   * @param trailers sent after the body; only if the response head has announced trailers
   */
  end(trailers?: Fields): void;
}

/**
 * One HTTP request and its response, independent of the kind of server. It is answered once, by `respond` or by `open`,
 * which have no effect if the client has disconnected.
 */
export interface HttpExchange {
  readonly method: string;
  /** Path and query of the request. */
  readonly target: string;
  /** Host and port that the client addressed; undefined if unknown. */
  readonly authority: string | undefined;
  readonly supportsTrailers?: boolean;
  readonly isSecure: boolean;
  /** True if the request is known to have arrived at a loopback address, as in a development server. */
  readonly isLoopback: boolean;
  /** The request object of the platform, such as a `Request`. */
  readonly request: unknown;
  /** Address of the client; undefined if the server does not report it. */
  readonly peer: string | undefined;
  /** Returns the value of the header field with this lower-case name. */
  header(name: string): string | undefined;
  readonly headers: Headers;
  readonly body: ByteBody | null;
  /** Memory budget charged for unread bytes of the request's body, if this object buffers them. */
  unread: Pick<RequestBytes, "change"> | undefined;
  /**
   * Returns a promise after which `arrivedBody` should be tried, for a body that may have arrived together with the
   * head. Returns undefined if trying (again) is not worthwhile. Bodies may have no declared length.
   */
  arrival?(): Promise<void> | undefined;
  /** Returns the body if all of it has arrived; undefined otherwise. */
  arrivedBody?(): Uint8Array | undefined;
  /**
   * Reads the whole body. Rejects with the exception of `hold`, which is called with the size of each piece; with
   * `resource_exhausted` if the body has more than `maxBytes` bytes; and if the client has disconnected.
   */
  readBody(maxBytes: number, hold: (bytes: number) => void): Promise<Uint8Array>;
  /** Stops reading the body: a read in progress fails with the error, and bytes that still arrive are dropped. */
  dropBody(error: RpcError): void;
  /** Sends an interim response (status 1xx). Undefined if the platform does not support it. */
  inform?(status: number, fields: Readonly<Record<string, string>>): void;
  /** Sends a response with a complete body and trailers. Undefined if that is not faster than `open`. */
  respondWhole?(head: AnswerHead, body: Uint8Array, trailers: Fields): void;
  respond(head: AnswerHead, body?: Uint8Array | string): void;
  /** Begins a response whose body is sent in pieces. Not for HEAD requests, whose responses have no body. */
  open(head: AnswerHead): AnswerBody;
  /** Header fields that are added to every response to this request; undefined for none. */
  added: Readonly<Record<string, string>> | undefined;
  readonly isGone: boolean;
  /** Called once if the client disconnects before the response is complete. */
  onGone: (() => void) | undefined;
  /** Called once when the platform has taken the whole response, or the client has disconnected. */
  onEnd: (() => void) | undefined;
  /** Ends the request without sending the rest of the response. */
  cutOff(error: RpcError): void;
}

/** Returns true if a request is a GET or a HEAD. Both get the same response fields, because caches may store either. */
export function isGet({ method }: Pick<HttpExchange, "method">): boolean {
  return method === "GET" || method === "HEAD";
}

export function fieldsWith(
  fields: Readonly<Record<string, string>>,
  added: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> {
  if (added === undefined) return fields;
  const vary = [added["vary"], fields["vary"]].filter((value) => value !== undefined).join(", ");
  return { ...fields, ...added, ...(vary !== "" && { vary }) };
}

/**
 * Splits an absolute-form request target (RFC 9112 §3.2.2) into host and port, and path and query; undefined for other
 * forms.
 */
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
