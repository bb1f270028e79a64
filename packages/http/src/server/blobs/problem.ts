import { RpcError } from "@quicrpc/core";
import { statusOf } from "../../protocol/codes.js";
import { errorToJson, jsonBytes } from "../../protocol/error-json.js";
import type { HttpExchange } from "../exchange.js";

const TYPES = "https://iana.org/assignments/http-problem-types#";
const TITLES = {
  "mismatching-upload-offset": "the offset in the request is not that of the upload",
  "completed-upload": "the upload is complete already",
  "inconsistent-upload-length": "the lengths that were said of the upload differ",
} as const;

/** An error of a resumable upload that has its own problem type (RFC 9457). */
export class UploadProblem extends Error {
  readonly status: number;
  readonly type: keyof typeof TITLES;
  readonly more: Readonly<Record<string, number>>;

  constructor(status: number, type: keyof typeof TITLES, more: Readonly<Record<string, number>> = {}) {
    super(TITLES[type]);
    this.status = status;
    this.type = type;
    this.more = more;
  }
}

/**
 * Sends an error response: an upload problem as RFC 9457 problem details, any other error in the JSON of the Connect
 * protocol.
 */
export function answerFailure(exchange: HttpExchange, error: unknown, fields: Readonly<Record<string, string>>): void {
  if (error instanceof UploadProblem) {
    const { status, type, message: title, more } = error;
    const head = { status, fields: { ...fields, "content-type": "application/problem+json" } };
    exchange.respond(head, jsonBytes({ type: TYPES + type, title, ...more }));
    return;
  }
  const failure = error instanceof RpcError ? error : new RpcError("internal", "the request could not be answered");
  const status = error instanceof TooLarge ? 413 : statusOf(failure.code);
  exchange.respond(
    { status, fields: { ...fields, "content-type": "application/json" } },
    jsonBytes(errorToJson(failure)),
  );
}

/** The error for an upload with too many bytes. Its HTTP status is 413. */
export class TooLarge extends RpcError {
  constructor({ message }: RpcError) {
    super("resource_exhausted", message);
  }
}
