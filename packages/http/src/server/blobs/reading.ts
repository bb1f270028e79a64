import { Metadata, type RpcError } from "@quicrpc/core";
import type { BlobReading, BlobReference } from "@quicrpc/blobs/internal";

/** Reference of a blob that is not read through a session and therefore has no number. */
export const NO_REFERENCE: BlobReference = [0, null, "", ""];

/** The state of reading a blob for an HTTP response. */
export class Reading implements BlobReading {
  readonly trailers: Metadata = new Metadata();
  /** Error with which other code has ended the reading; undefined if none has. */
  failure: RpcError | undefined = undefined;
  readonly reply: BlobReading["reply"] = { revoke: (error) => this.end(error) };
  private onEnd: (() => void) | undefined = undefined;

  get hasEnded(): boolean {
    return this.failure !== undefined;
  }

  end(error: RpcError): void {
    this.failure ??= error;
    this.onEnd?.();
  }

  /**
   * Resolves like `step`, or with undefined when the reading is ended: the blob's source may never produce another
   * chunk.
   */
  async unlessEnded<T>(step: Promise<T>): Promise<T | undefined> {
    step.catch(() => {});
    if (this.hasEnded) return undefined;
    const ended = new Promise<undefined>((resolve) => (this.onEnd = () => resolve(undefined)));
    const value = await Promise.race([step, ended]);
    return this.hasEnded ? undefined : value;
  }
}
