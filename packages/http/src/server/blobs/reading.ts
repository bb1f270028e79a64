import { Metadata, type RpcError } from "@quicrpc/core";
import type { BlobReading, BlobReference } from "@quicrpc/core/transport";

/** Number of a source that has none in a session. */
export const NO_REFERENCE: BlobReference = [0, null, "", ""];

/** The read of a blob over HTTP. */
export class Reading implements BlobReading {
  readonly trailers: Metadata = new Metadata();
  /** Error that ended it from outside; undefined where none did. */
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

  /** Fulfils as `step` does, or with undefined once the read was ended: its source may have nothing to give. */
  async unlessEnded<T>(step: Promise<T>): Promise<T | undefined> {
    step.catch(() => {});
    if (this.hasEnded) return undefined;
    const ended = new Promise<undefined>((resolve) => (this.onEnd = () => resolve(undefined)));
    const value = await Promise.race([step, ended]);
    return this.hasEnded ? undefined : value;
  }
}
