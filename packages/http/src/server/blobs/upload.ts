import { RpcError } from "@quicrpc/core";
import {
  blobTooLarge,
  createSha256,
  expiries,
  type Expiry,
  PacedHash,
  reminders,
  type Sha256,
  type StoredUpload,
  type UploadFacts,
} from "@quicrpc/core/transport";
import type { ByteBody } from "../../protocol/body.js";
import { TooLarge } from "./problem.js";

/** One attempt to append. */
interface Attempt {
  readonly stop: (error: RpcError) => void;
  /** Fulfils when what it has written is in the store. */
  readonly done: Promise<void>;
}

/** Bounds of one attempt. */
export interface AppendLimits {
  /** Bytes that the upload may have in the end. */
  readonly maxBytes: number;
  /** Milliseconds that the next piece may take to arrive. */
  readonly idleMs: number;
}

/** An upload that may be appended to, by one attempt at a time. */
export class Upload {
  readonly id: string;
  readonly stored: StoredUpload;
  /** It was removed, and is there for nobody. */
  isGone = false;
  private attempt: Attempt | undefined = undefined;
  /** Attempts that have begun. */
  private attempts = 0;
  private readonly maxAgeMs: number;
  private readonly onGone: () => void;
  private expiry: Expiry | undefined = undefined;
  /** Hash of the first bytes, of so many as were asked for last. */
  private hash: Sha256 | undefined = undefined;
  private hashed = 0;
  private hashing: Promise<unknown> = Promise.resolve();
  private removal: Promise<void> | undefined = undefined;
  private users = 0;

  /** @param onGone called once, when it is removed and nothing of it is left in the store */
  constructor(id: string, stored: StoredUpload, maxAgeMs: number, onGone: () => void) {
    this.id = id;
    this.stored = stored;
    this.maxAgeMs = maxAgeMs;
    this.onGone = onGone;
    this.rearm();
  }

  /** Ends the attempt in progress, and returns how many bytes are kept for certain. */
  async offset(): Promise<number> {
    for (;;) {
      while (this.attempt !== undefined) {
        this.attempt.stop(new RpcError("aborted", "another request goes on with the upload"));
        await this.attempt.done;
      }
      const { attempts } = this;
      const size = await this.stored.size();
      // Otherwise another request has gone on with it meanwhile.
      if (attempts === this.attempts) return size;
    }
  }

  /**
   * Appends a body, piece by piece. To be called with the offset that was returned last, before anything else is awaited. Returns the offset
   * afterwards; what had arrived is kept where it rejects, and an attempt that takes over ends this one with `aborted`.
   *
   * @param noted says what the store is to note at the end of the body, once its bytes are kept: the attempt is over when it has. Throws where that is not the end
   */
  async append(
    body: ByteBody | null,
    at: number,
    limits: AppendLimits,
    noted: (end: number) => UploadFacts,
  ): Promise<number> {
    if (this.isGone || this.attempt !== undefined)
      throw new RpcError("aborted", "another request goes on with the upload");
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
        // A stream that was cancelled ends like any other: whether it was is to be asked afterwards.
        const piece = await this.next(reader, limits.idleMs, stop);
        if (stopped !== undefined) throw stopped;
        if (piece === undefined) {
          const facts = noted(end);
          await this.stored.sync();
          if (facts !== this.stored.facts) await this.stored.note(facts);
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
      // Only what will be there after all is told, to whoever asks for the offset next.
      await this.stored.sync().catch((error: unknown) => stop(RpcError.from(error, "internal")));
      this.attempt = undefined;
      this.unhold();
      settle();
    }
  }

  /** The SHA-256 of its first bytes. However often it is asked for, and by how many at once, each byte is hashed once. */
  sha256(size: number): Promise<string> {
    const digest = this.hashing.then(() => this.hashUpTo(size));
    this.hashing = digest.catch(() => {});
    return digest;
  }

  /** Somebody uses it, and it does not expire meanwhile. */
  hold(): void {
    this.users++;
    if (this.expiry !== undefined) reminders.remove(this.expiry);
    this.expiry = undefined;
  }

  unhold(): void {
    this.users--;
    this.rearm();
  }

  /** Removes it; an attempt in progress ends with the error. Fulfils when it is gone. */
  async remove(error: RpcError): Promise<void> {
    if (!this.isGone) {
      this.end(error);
      this.removal = this.removeStored();
    }
    return this.removal;
  }

  /** The store itself has removed it. */
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
    // The store has lost some of what it had.
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
