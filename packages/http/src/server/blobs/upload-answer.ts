import { RpcError } from "@quicrpc/core";
import { blobTooLarge } from "@quicrpc/blobs/internal";
import {
  BEGINS_WITH,
  PARTIAL_UPLOAD,
  parseBoolean,
  readCount,
  readDigest,
  readDisposition,
  REPR_DIGEST,
  UPLOAD_COMPLETE,
  UPLOAD_LENGTH,
  UPLOAD_LIMIT,
  UPLOAD_OFFSET,
} from "../../protocol/blob-headers.js";
import { jsonBytes } from "../../protocol/error-json.js";
import type { HttpExchange } from "../exchange.js";
import { TooLarge, UploadProblem } from "./problem.js";
import type { Upload } from "./upload.js";

/** Limits on the uploads of one blob field. */
export interface UploadRules {
  readonly maxBytes: number;
  readonly maxAgeMs: number;
  /** Maximum milliseconds to wait for further bytes of a request's body. */
  readonly idleMs: number;
}

const NO_STORE = { "cache-control": "no-store" } as const;

/** Values of the header fields of an upload request. */
export interface SaidOfUpload {
  readonly isComplete: boolean;
  /** Declared bytes of the whole upload; undefined if the request does not state them. */
  readonly length: number | undefined;
  /** Declared bytes of the request's body; undefined if the request does not state them. */
  readonly bodyLength: number | undefined;
  readonly type: string;
  readonly name: string;
  readonly sha256: string | undefined;
}

/**
 * Reads the header fields of an upload request. Throws `RpcError` if they are invalid or declare more bytes than
 * allowed, before any of the body is read.
 *
 * @param isComplete whether the body completes the upload, if the request does not state it
 * @param at position of the body in the upload
 */
export function saidOfUpload(exchange: HttpExchange, isComplete: boolean, at: number, maxBytes: number): SaidOfUpload {
  const said = exchange.header(UPLOAD_COMPLETE);
  const isAll = said === undefined ? isComplete : parseBoolean(said);
  const bodyLength = readCount(exchange.header("content-length"));
  const length = readCount(exchange.header(UPLOAD_LENGTH));
  if (isAll === undefined || Number.isNaN(bodyLength) || Number.isNaN(length))
    throw new RpcError("invalid_argument", "Upload-Complete must be ?0 or ?1, and Upload-Length a number of bytes");
  const end = bodyLength === undefined ? undefined : at + bodyLength;
  const least = Math.max(length ?? 0, end ?? 0);
  if (least > maxBytes) throw new TooLarge(blobTooLarge(least, maxBytes));
  if (length !== undefined && end !== undefined && (isAll ? end !== length : end > length))
    throw new UploadProblem(400, "inconsistent-upload-length");
  return {
    isComplete: isAll,
    length: length ?? (isAll ? end : undefined),
    bodyLength,
    type: (exchange.header("content-type") ?? "").slice(0, 255),
    name: readDisposition(exchange.header("content-disposition")),
    sha256: readDigest(exchange.header(REPR_DIGEST)),
  };
}

export function limitsOf({ maxBytes, maxAgeMs }: UploadRules): Readonly<Record<string, string>> {
  return { [UPLOAD_LIMIT]: `max-size=${maxBytes}, max-age=${Math.floor(maxAgeMs / 1000)}` };
}

/** Stores the body of the request that has created an upload, and sends the response. */
export async function answerCreated(
  exchange: HttpExchange,
  upload: Upload,
  url: string,
  said: SaidOfUpload,
  rules: UploadRules,
): Promise<void> {
  const fields = { location: url, ...limitsOf(rules) };
  exchange.inform?.(104, fields);
  const end = await takeBody(exchange, upload, 0, said, rules);
  const head = { ...NO_STORE, ...fields, ...progress(said.isComplete, end), "content-type": "application/json" };
  exchange.respond({ status: 201, fields: head }, jsonBytes({ url }));
}

export async function answerAppended(exchange: HttpExchange, upload: Upload, rules: UploadRules): Promise<void> {
  if (exchange.header("content-type")?.split(";")[0]?.trim().toLowerCase() !== PARTIAL_UPLOAD) {
    exchange.respond({ status: 415, fields: { ...NO_STORE, "accept-patch": PARTIAL_UPLOAD } });
    return;
  }
  const provided = readCount(exchange.header(UPLOAD_OFFSET));
  if (provided === undefined || Number.isNaN(provided))
    throw new RpcError(
      "invalid_argument",
      "Upload-Offset must be the number of bytes that the server has: HEAD returns it",
    );
  const said = saidOfUpload(exchange, false, provided, rules.maxBytes);
  const at = await upload.offset();
  const { info } = upload.stored;
  if (info.isComplete) throw new UploadProblem(400, "completed-upload");
  if (provided !== at)
    throw new UploadProblem(409, "mismatching-upload-offset", { "expected-offset": at, "provided-offset": provided });
  const length = info.length ?? said.length;
  const beyond = said.bodyLength !== undefined && length !== undefined && at + said.bodyLength > length;
  if (beyond || (said.length !== undefined && said.length !== length))
    throw new UploadProblem(400, "inconsistent-upload-length");
  const end = await takeBody(exchange, upload, at, said, rules);
  exchange.respond({ status: 204, fields: { ...NO_STORE, ...progress(said.isComplete, end) } });
}

/** Ends any other request that appends to the upload, and answers with the number of stored bytes. */
export async function answerOffset(exchange: HttpExchange, upload: Upload, rules: UploadRules): Promise<void> {
  const at = await upload.offset();
  const { info } = upload.stored;
  const fields: Record<string, string> = { ...NO_STORE, ...limitsOf(rules), ...progress(info.isComplete, at) };
  if (info.length !== undefined) fields[UPLOAD_LENGTH] = String(info.length);
  if (exchange.header(BEGINS_WITH) !== undefined) fields[BEGINS_WITH] = await upload.sha256(at);
  exchange.respond({ status: 204, fields });
}

function progress(isComplete: boolean, offset: number): Readonly<Record<string, string>> {
  return { [UPLOAD_COMPLETE]: isComplete ? "?1" : "?0", [UPLOAD_OFFSET]: String(offset) };
}

async function takeBody(
  exchange: HttpExchange,
  upload: Upload,
  at: number,
  said: SaidOfUpload,
  { maxBytes, idleMs }: UploadRules,
): Promise<number> {
  const { info } = upload.stored;
  const length = info.length ?? said.length;
  return upload.append(exchange.body, at, { maxBytes, idleMs }, (end) => {
    if (length !== undefined && (said.isComplete ? end !== length : end > length))
      throw new UploadProblem(400, "inconsistent-upload-length");
    const { isComplete } = said;
    const now = { ...info, length: isComplete ? end : length, sha256: said.sha256 ?? info.sha256, isComplete };
    const isSame = isComplete === info.isComplete && now.length === info.length && now.sha256 === info.sha256;
    return isSame ? info : now;
  });
}
