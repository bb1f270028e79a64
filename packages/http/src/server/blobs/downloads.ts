import { RpcError } from "@quicrpc/core";
import { type BlobSource, createBlobId } from "@quicrpc/blobs";
import { describedBlob, discardBlob, isRepeatable } from "@quicrpc/blobs/internal";
import { type Expiry, reminders } from "@quicrpc/core/internal";
import { MAX_RESOURCES, type Requester } from "./uploads.js";

/** Milliseconds for which a blob of a response is kept after the last request for it. */
const ANSWER_MS = 60_000;

/** A blob of a response, which the client can download with GET. */
export class Download {
  readonly id: string = createBlobId();
  readonly blob: ReturnType<typeof describedBlob>;
  /** Method whose response contains the blob, as "service/method". */
  readonly method: string;
  readonly principal: string;
  /** SHA-256 of the whole blob; undefined until a request with a digest has read all of it. */
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

  /** True if any part of the blob can be read, any number of times. */
  get hasRanges(): boolean {
    return this.blob.length !== undefined && isRepeatable(this.blob.content);
  }

  /** Called when a request begins to read the blob. Throws `RpcError` if it is a stream that was read before. */
  begin(): void {
    if (this.wasRead && !isRepeatable(this.blob.content))
      throw new RpcError("failed_precondition", "the blob is a stream, which can be read once: make the call again");
    this.wasRead = true;
    this.users++;
    if (this.expiry !== undefined) reminders.remove(this.expiry);
    this.expiry = undefined;
  }

  /** Called when the blob is requested; postpones its expiry. */
  touch(): void {
    if (this.expiry === undefined) return;
    reminders.remove(this.expiry);
    this.rearm();
  }

  /** Called when a request has finished reading the blob. */
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

/** All blobs of responses that clients can currently download. */
export class Downloads {
  private readonly known: Map<string, Download> = new Map();
  private readonly counts: Map<string, number> = new Map();
  private readonly maxOfPrincipal: number;

  constructor(maxOfPrincipal: number) {
    this.maxOfPrincipal = maxOfPrincipal;
  }

  /**
   * Makes a blob of a response available for download, for a limited time. Throws `RpcError` if the value is not a
   * blob, or if there are too many downloads.
   */
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

  /** Returns the download with this id. Throws `RpcError` `not_found` if the principal of the request has none. */
  find(id: string, method: string, { principal }: Requester): Download {
    const found = this.known.get(id);
    if (found === undefined || found.method !== method || found.principal !== principal)
      throw new RpcError("not_found", "the blob does not exist or has expired");
    found.touch();
    return found;
  }
}
