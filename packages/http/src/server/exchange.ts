import type { RpcError } from "@quicrpc/core";
import type { ByteBody } from "../protocol/body.js";
import type { HeldBytes } from "./held-bytes.js";

/** The status and header fields of an answer. */
export interface AnswerHead {
  readonly status: number;
  /** Fields of the protocol, by names in lower case. */
  readonly fields: Readonly<Record<string, string>>;
  /** Metadata, and whatever else may have any name or value that HTTP allows. */
  readonly metadata?: Headers | undefined;
}

/** The body of an answer that is sent in pieces. */
export interface AnswerBody {
  /** Whether the client takes more at present. */
  readonly ready: boolean;
  write(bytes: Uint8Array): void;
  /** Calls `resume` once when `ready`, or when the client is gone. */
  whenReady(resume: () => void): void;
  end(): void;
}

/**
 * One HTTP request and its answer, whatever server it came to. It is answered once, by `respond` or by `open`; both do nothing where
 * the client is gone.
 */
export interface HttpExchange {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** The host, with its port, that the client believes to reach. */
  readonly authority: string | undefined;
  /** Whether it came over TLS. */
  readonly isSecure: boolean;
  /** Whether it is known to have come to a loopback address, as to a server in development. */
  readonly isLoopback: boolean;
  /** The request of the platform. */
  readonly request: unknown;
  /** The client's address, where the server tells it. */
  readonly peer: string | undefined;
  /** The value of a header field, by its name in lower case. */
  header(name: string): string | undefined;
  /** All header fields. */
  readonly headers: Headers;
  readonly body: ByteBody | null;
  /** Holds of the body what has arrived and nobody has taken, where this side keeps it. */
  unread: Pick<HeldBytes, "change"> | undefined;
  /**
   * Fulfils when a body that came together with the head may be there, for `arrivedBody` to take. Undefined where nobody can say, and once it is
   * not worth another look.
   */
  arrival?(): Promise<void> | undefined;
  /** Takes the body where all of it has arrived; undefined where it has not. */
  arrivedBody?(): Uint8Array | undefined;
  /**
   * Reads the body to its end. Rejects with what `hold`, which receives the bytes of each piece, throws; `resource_exhausted` for more than
   * `maxBytes`; and where the client is gone.
   */
  readBody(maxBytes: number, hold: (bytes: number) => void): Promise<Uint8Array>;
  /** Releases the body: a read in progress fails with the error, and bytes that still come are dropped. */
  dropBody(error: RpcError): void;
  /** Sends a head before that of the answer (1xx), where the platform can. */
  inform?(status: number, fields: Readonly<Record<string, string>>): void;
  /** Answers with a whole body. */
  respond(head: AnswerHead, body?: Uint8Array | string): void;
  /** Answers with a body in pieces, of which nobody reads any where the request is a HEAD: such are answered by `respond`. */
  open(head: AnswerHead): AnswerBody;
  /** Fields that the answer has, whatever it is; undefined for none. */
  added: Readonly<Record<string, string>> | undefined;
  /** Whether the client is gone. */
  readonly isGone: boolean;
  /** To be called once when the client is gone before its answer was complete. */
  onGone: (() => void) | undefined;
  /** To be called once when the answer has been handed over as a whole, or the client is gone. */
  onEnd: (() => void) | undefined;
  /** Ends the request without the rest of its answer. */
  cutOff(error: RpcError): void;
}

/** Whether a request is a GET, or a HEAD, which is answered with the same fields: caches may keep either. */
export function isGet({ method }: Pick<HttpExchange, "method">): boolean {
  return method === "GET" || method === "HEAD";
}

/** The fields of an answer, with those that every answer to the request has. */
export function fieldsWith(
  fields: Readonly<Record<string, string>>,
  added: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> {
  if (added === undefined) return fields;
  const vary = [added["vary"], fields["vary"]].filter((each) => each !== undefined).join(", ");
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
