import { Metadata, type RpcError } from "@quicrpc/core";
import type { BlobReading, BlobReference } from "@quicrpc/blobs/internal";

/** Reference of a source that has no number in a session. */
export const NO_REFERENCE: BlobReference = [0, null, "", ""];

/** A read of a blob over HTTP. */
export class Reading implements BlobReading {
  readonly trailers: Metadata = new Metadata();
  /** Error that ended it from outside, if any. */
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

  /** Resolves like `step`, or with undefined once the read was ended, because its source may never produce more. */
  async unlessEnded<T>(step: Promise<T>): Promise<T | undefined> {
    step.catch(() => {});
    if (this.hasEnded) return undefined;
    const ended = new Promise<undefined>((resolve) => (this.onEnd = () => resolve(undefined)));
    const value = await Promise.race([step, ended]);
    return this.hasEnded ? undefined : value;
  }
}
