import { RpcError } from "@quicrpc/core";
import type { StoredUpload, UploadInfo } from "@quicrpc/blobs";
import { blobTooLarge, createSha256, PacedHash, type Sha256 } from "@quicrpc/blobs/internal";
import { expiries, type Expiry, reminders } from "@quicrpc/core/internal";
import type { ByteBody } from "../../protocol/body.js";
import { TooLarge } from "./problem.js";

/** One request's attempt to append to an upload. */
interface Attempt {
  readonly stop: (error: RpcError) => void;
  /** Resolves when the bytes that the attempt has written are stored durably. */
  readonly done: Promise<void>;
}

export interface AppendLimits {
  /** Maximum bytes of the whole upload. */
  readonly maxBytes: number;
  /** Maximum milliseconds to wait for the next piece of the body. */
  readonly idleMs: number;
}

/** An upload to which one attempt at a time may append. */
export class Upload {
  readonly id: string;
  readonly stored: StoredUpload;
  /** True if the upload was removed, so that no request finds it. */
  isGone = false;
  private attempt: Attempt | undefined = undefined;
  private attempts = 0;
  private readonly maxAgeMs: number;
  private readonly onGone: () => void;
  private expiry: Expiry | undefined = undefined;
  /** Hash of the first `hashed` bytes of the upload, as many as were last requested. */
  private hash: Sha256 | undefined = undefined;
  private hashed = 0;
  private hashing: Promise<unknown> = Promise.resolve();
  private removal: Promise<void> | undefined = undefined;
  private users = 0;

  /** @param onGone called once, when the upload and all of its stored bytes are removed */
  constructor(id: string, stored: StoredUpload, maxAgeMs: number, onGone: () => void) {
    this.id = id;
    this.stored = stored;
    this.maxAgeMs = maxAgeMs;
    this.onGone = onGone;
    this.rearm();
  }

  /** Ends the attempt to append that is in progress, and returns the number of durably stored bytes. */
  async offset(): Promise<number> {
    for (;;) {
      while (this.attempt !== undefined) {
        this.attempt.stop(new RpcError("aborted", "another request has continued the upload"));
        await this.attempt.done;
      }
      const { attempts } = this;
      const size = await this.stored.size();
      // If the numbers differ, another request has meanwhile appended to the upload.
      if (attempts === this.attempts) return size;
    }
  }

  /**
   * Appends a body to the upload, piece by piece, and returns the new offset. Must be called with the last result of
   * `offset`, without an `await` in between. If it rejects, the pieces that have arrived are kept. If another request
   * continues the upload, this one rejects with `aborted`.
   *
   * @param noted called with the new offset when all bytes are stored; returns the upload information to store, or
   * throws if the upload is not complete
   */
  async append(
    body: ByteBody | null,
    at: number,
    limits: AppendLimits,
    noted: (end: number) => UploadInfo,
  ): Promise<number> {
    if (this.isGone || this.attempt !== undefined)
      throw new RpcError("aborted", "another request has continued the upload");
    const reader = body?.getReader();
    let stopped: RpcError | undefined;
    let settle!: () => void;
    const done = new Promise<void>((resolve) => (settle = resolve));
    const stop = (reason: RpcError): void => {
      stopped ??= reason;
      reader?.cancel(reason).catch(() => {});
    };
    this.attempt = { stop, done };
    this.attempts++;
    this.hold();
    let end = at;
    try {
      for (;;) {
        // A cancelled reader ends in the same way as a complete body, so `stopped` is checked afterwards.
        const piece = await this.next(reader, limits.idleMs, stop);
        if (stopped !== undefined) throw stopped;
        if (piece === undefined) {
          const info = noted(end);
          await this.stored.sync();
          if (info !== this.stored.info) await this.stored.note(info);
          return end;
        }
        if (end + piece.length > limits.maxBytes) throw new TooLarge(blobTooLarge(end + piece.length, limits.maxBytes));
        await this.stored.write(piece, end);
        end += piece.length;
      }
    } catch (error) {
      stop(RpcError.from(error, "aborted"));
      throw error;
    } finally {
      // The bytes are synced before the attempt ends, because the offset that later requests see counts only durably
      // stored bytes.
      await this.stored.sync().catch((error: unknown) => stop(RpcError.from(error, "internal")));
      this.attempt = undefined;
      this.unhold();
      settle();
    }
  }

  /**
   * Returns the SHA-256 of the first `size` bytes of the upload. Each byte is hashed only once, although many requests
   * may ask for digests.
   */
  sha256(size: number): Promise<string> {
    const digest = this.hashing.then(() => this.hashUpTo(size));
    this.hashing = digest.catch(() => {});
    return digest;
  }

  /** Marks the upload as in use, so that it does not expire until `unhold` is called. */
  hold(): void {
    this.users++;
    if (this.expiry !== undefined) reminders.remove(this.expiry);
    this.expiry = undefined;
  }

  unhold(): void {
    this.users--;
    this.rearm();
  }

  /**
   * Removes the upload from the store. An attempt to append ends with the error. Resolves when the upload is removed.
   */
  async remove(error: RpcError): Promise<void> {
    if (!this.isGone) {
      this.end(error);
      this.removal = this.removeStored();
    }
    return this.removal;
  }

  /** Called when the store itself has removed the upload. */
  gone(error: RpcError): void {
    if (this.isGone) return;
    this.end(error);
    this.onGone();
  }

  private async removeStored(): Promise<void> {
    try {
      await this.attempt?.done;
      await this.stored.remove();
    } finally {
      this.onGone();
    }
  }

  private end(error: RpcError): void {
    this.isGone = true;
    if (this.expiry !== undefined) reminders.remove(this.expiry);
    this.attempt?.stop(error);
  }

  private rearm(): void {
    if (this.users > 0 || this.isGone) return;
    const expire = (): void => {
      this.remove(new RpcError("not_found", "the upload has expired")).catch(() => {});
    };
    this.expiry = reminders.add(this.maxAgeMs, expire);
  }

  private async hashUpTo(size: number): Promise<string> {
    // True if the store has lost bytes that were already hashed.
    const isAhead = this.hashed > size;
    const hash = (isAhead ? undefined : this.hash)?.copy() ?? createSha256();
    const paced = new PacedHash(hash);
    let hashed = isAhead ? 0 : this.hashed;
    let at = 0;
    if (hashed < size) {
      for await (const chunk of this.stored.read()) {
        const piece = chunk.subarray(Math.max(0, hashed - at), Math.max(0, size - at));
        await paced.update(piece);
        hashed += piece.length;
        at += chunk.length;
        if (hashed === size) break;
      }
    }
    if (hashed < size) throw new RpcError("aborted", "the upload was removed while its bytes were read");
    this.hash = hash;
    this.hashed = size;
    return hash.copy().hex();
  }

  private async next(
    reader: ReadableStreamDefaultReader<Uint8Array> | undefined,
    idleMs: number,
    stop: (error: RpcError) => void,
  ): Promise<Uint8Array | undefined> {
    if (reader === undefined) return undefined;
    const text = `the upload's next bytes did not arrive within ${idleMs} ms (maxBodyMs)`;
    const late = expiries.add(idleMs, () => stop(new RpcError("deadline_exceeded", text)));
    try {
      const { done, value } = await reader.read();
      return done ? undefined : value;
    } catch (cause) {
      throw new RpcError("aborted", "the request ended before its body did", { cause });
    } finally {
      expiries.remove(late);
    }
  }
}
