import { RpcError } from "@quicrpc/core";
import { type BlobSource, createBlobId } from "@quicrpc/core/blobs";
import { describedBlob, discardBlob, type Expiry, isRepeatable, reminders } from "@quicrpc/core/transport";
import { MAX_RESOURCES, type Requester } from "./uploads.js";

/** Milliseconds that an answer's blob stays after its last request. */
const ANSWER_MS = 60_000;

/** A blob of an answer, which its caller may GET. */
export class Download {
  readonly id: string = createBlobId();
  readonly blob: ReturnType<typeof describedBlob>;
  /** Whose answer it is of, as "service/method". */
  readonly method: string;
  readonly principal: string;
  /** The SHA-256 of all of it, once it was read whole by a request that asked for it. */
  sha256: string | undefined = undefined;
  private wasRead = false;
  private users = 0;
  private expiry: Expiry | undefined = undefined;
  private readonly onGone: () => void;

  constructor(blob: Download["blob"], method: string, principal: string, onGone: () => void) {
    this.blob = blob;
    this.method = method;
    this.principal = principal;
    this.onGone = onGone;
    this.rearm();
  }

  /** Whether any part of it can be read, any number of times. */
  get hasRanges(): boolean {
    return this.blob.length !== undefined && isRepeatable(this.blob.content);
  }

  /** Begins a read. Throws `RpcError` for a stream that was read. */
  begin(): void {
    if (this.wasRead && !isRepeatable(this.blob.content))
      throw new RpcError("failed_precondition", "the blob is a stream, which can be read once: make the call again");
    this.wasRead = true;
    this.users++;
    if (this.expiry !== undefined) reminders.remove(this.expiry);
    this.expiry = undefined;
  }

  /** Somebody has asked for it. */
  touch(): void {
    if (this.expiry === undefined) return;
    reminders.remove(this.expiry);
    this.rearm();
  }

  /** The read is over. */
  over(): void {
    this.users--;
    this.rearm();
  }

  release(): void {
    if (this.expiry !== undefined) reminders.remove(this.expiry);
    if (!this.wasRead) discardBlob(this.blob.content);
    this.onGone();
  }

  private rearm(): void {
    if (this.users === 0) this.expiry = reminders.add(ANSWER_MS, () => this.release());
  }
}

/** Blobs of answers that may be read. */
export class Downloads {
  private readonly known: Map<string, Download> = new Map();
  private readonly counts: Map<string, number> = new Map();
  private readonly maxOfPrincipal: number;

  constructor(maxOfPrincipal: number) {
    this.maxOfPrincipal = maxOfPrincipal;
  }

  /** Offers one for a time. Throws `RpcError` for what is no blob, and for too many. */
  add(source: BlobSource, method: string, { principal, counted }: Requester): Download {
    const described = describedBlob(source);
    const count = this.counts.get(counted) ?? 0;
    if (count >= this.maxOfPrincipal || this.known.size >= MAX_RESOURCES) {
      discardBlob(described.content);
      throw new RpcError("resource_exhausted", `${count} blobs of answers wait to be read (limits.maxPrincipalBlobs)`);
    }
    this.counts.set(counted, count + 1);
    const download: Download = new Download(described, method, principal, () => {
      if (!this.known.delete(download.id)) return;
      const left = (this.counts.get(counted) ?? 0) - 1;
      if (left > 0) this.counts.set(counted, left);
      else this.counts.delete(counted);
    });
    this.known.set(download.id, download);
    return download;
  }

  has(id: string): boolean {
    return this.known.has(id);
  }

  /** Throws `RpcError` `not_found` where there is none of this principal. */
  find(id: string, method: string, { principal }: Requester): Download {
    const found = this.known.get(id);
    if (found === undefined || found.method !== method || found.principal !== principal)
      throw new RpcError("not_found", "there is no such blob, or not any more");
    found.touch();
    return found;
  }
}
