import { RpcError } from "@quicrpc/core";
import { DIGEST_TRAILER, Offered } from "@quicrpc/blobs/internal";
import {
  BEGINS_WITH,
  REPR_DIGEST,
  WANT_REPR_DIGEST,
  writeDigest,
  writeDisposition,
  writeType,
} from "../../protocol/blob-headers.js";
import type { HttpExchange } from "../exchange.js";
import type { RequestBytes } from "../request-bytes.js";
import type { Download } from "./downloads.js";
import { NO_REFERENCE, Reading } from "./reading.js";

/**
 * Response fields that prevent browsers from displaying a file as a page of this server, and caches from storing it.
 */
const SAFE = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "sandbox; default-src 'none'",
  "cache-control": "no-store",
} as const;

/**
 * Answers a GET or HEAD request for a blob. Rejects with the error of the blob's source if it fails before the response
 * begins.
 */
export async function answerDownload(exchange: HttpExchange, download: Download, unsent: RequestBytes): Promise<void> {
  const { length, type = "", name = "" } = download.blob;
  const etag = `"${download.id}"`;
  const fields: Record<string, string> = {
    ...SAFE,
    etag,
    "accept-ranges": download.hasRanges ? "bytes" : "none",
    "content-type": writeType(type),
    "content-disposition": writeDisposition(name),
    ...(download.sha256 !== undefined && { [REPR_DIGEST]: writeDigest(download.sha256) }),
  };
  if (!names(exchange.header("if-match") ?? "*", etag)) {
    exchange.respond({ status: 412, fields: { ...SAFE, etag } });
    return;
  }
  if (names(exchange.header("if-none-match") ?? "", etag)) {
    exchange.respond({ status: 304, fields: { ...SAFE, etag } });
    return;
  }
  const isSame = (exchange.header("if-range") ?? etag) === etag;
  const asked = exchange.method === "GET" && isSame ? exchange.header("range") : undefined;
  const range = download.hasRanges ? rangeOf(asked, length as number) : undefined;
  if (range === "unsatisfiable") {
    exchange.respond({ status: 416, fields: { ...SAFE, etag, "content-range": `bytes */${length}` } });
    return;
  }
  const { start, end } = range ?? { start: 0, end: length ?? Number.POSITIVE_INFINITY };
  if (length !== undefined) fields["content-length"] = String(end - start);
  if (range !== undefined) fields["content-range"] = `bytes ${start}-${end - 1}/${length}`;
  const head = { status: range === undefined ? 200 : 206, fields };
  if (exchange.method === "HEAD") exchange.respond(head);
  else await new Transfer(exchange, download, unsent, start, end).send(head);
}

/** Sends the bytes of a blob in one response. */
class Transfer {
  private readonly exchange: HttpExchange;
  private readonly download: Download;
  private readonly unsent: RequestBytes;
  private readonly start: number;
  private readonly end: number;
  private readonly reading: Reading = new Reading();

  constructor(exchange: HttpExchange, download: Download, unsent: RequestBytes, start: number, end: number) {
    this.exchange = exchange;
    this.download = download;
    this.unsent = unsent;
    this.start = start;
    this.end = end;
  }

  async send(head: { readonly status: number; readonly fields: Readonly<Record<string, string>> }): Promise<void> {
    const { exchange, download, reading, start } = this;
    download.begin();
    const wantsDigest = /\bsha-256\b/.test(exchange.header(WANT_REPR_DIGEST) ?? "");
    const chunks = new Offered(download.blob, NO_REFERENCE, () => {}).read(
      start,
      exchange.header(BEGINS_WITH),
      wantsDigest,
      reading,
    );
    exchange.onGone = () => reading.end(new RpcError("cancelled", "the client is gone"));
    let isOpen = false;
    try {
      const first = await reading.unlessEnded(chunks.next());
      if (first === undefined) return;
      const answer = exchange.open(head);
      isOpen = true;
      for (
        let at = start, step: IteratorResult<Uint8Array, void> | undefined = first;
        step?.done === false && at < this.end;
      ) {
        const bytes: Uint8Array = step.value.subarray(0, this.end - at);
        at += bytes.length;
        // For a whole blob, the last bytes are sent only when the source has ended: it may still fail or have more
        // bytes than declared, but the client would treat these bytes as the end.
        const isWhole = at === download.blob.length;
        if (isWhole) step = await reading.unlessEnded(chunks.next());
        if (step === undefined) return;
        if (isWhole) this.noteDigest();
        answer.write(bytes);
        if (!answer.ready) {
          if (!this.unsent.take(bytes.length))
            throw new RpcError("resource_exhausted", "the client does not read the blob");
          await new Promise<void>((resolve) => answer.whenReady(resolve));
          this.unsent.release();
        }
        if (!isWhole && at < this.end) step = await reading.unlessEnded(chunks.next());
      }
      if (reading.hasEnded) return;
      this.noteDigest();
      answer.end();
    } catch (error) {
      if (!isOpen) throw error;
      exchange.cutOff(RpcError.from(error, "aborted"));
    } finally {
      exchange.onGone = undefined;
      reading.end(new RpcError("cancelled", "the answer is over"));
      chunks.return().catch(() => {});
      download.over();
    }
  }

  /** Stores the digest before the client has received all bytes, because it may request the digest right after them. */
  private noteDigest(): void {
    this.download.sha256 ??= this.reading.trailers.get(DIGEST_TRAILER);
  }
}

/** Returns true if a list of entity tags contains `etag`, by strong comparison (RFC 9110 §8.8.3.2). */
function names(list: string, etag: string): boolean {
  return list.split(",").some((tag) => tag.trim() === etag || tag.trim() === "*");
}

/** A range of bytes, from `start` up to but not including `end`. */
interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Returns the single range that a `Range` header requests (RFC 9110 §14); "unsatisfiable" if none of its bytes exist.
 * Returns undefined if the whole is sent: without a header, or if it has another unit, several ranges or a syntax
 * error.
 */
function rangeOf(value: string | undefined, length: number): ByteRange | "unsatisfiable" | undefined {
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/i.exec(value?.replaceAll(/[ \t]/g, "") ?? "") ?? [];
  if (first === undefined || last === undefined || (first === "" && last === "")) return undefined;
  if (first === "") {
    const suffix = Math.min(Number(last), length);
    return suffix === 0 ? "unsatisfiable" : { start: length - suffix, end: length };
  }
  const start = Number(first);
  if (last !== "" && Number(last) < start) return undefined;
  if (start >= length) return "unsatisfiable";
  return { start, end: last === "" ? length : Math.min(Number(last) + 1, length) };
}
