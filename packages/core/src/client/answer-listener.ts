import type { CallOptions } from "../call/options.js";
import { guarded } from "../guarded.js";
import { decodeMetadata, type RawMetadata } from "../wire/metadata.js";

/** Tells a caller that asked for them of the callee's metadata and trailers, each once. */
export class AnswerListener {
  private readonly options: CallOptions;
  private headerTold = false;

  private constructor(options: CallOptions) {
    this.options = options;
  }

  /** Undefined for a caller that did not ask. */
  static of(options: CallOptions | undefined): AnswerListener | undefined {
    if (options?.onHeader === undefined && options?.onTrailer === undefined) return undefined;
    return new AnswerListener(options);
  }

  header(metadata: RawMetadata | undefined): void {
    if (this.headerTold) return;
    this.headerTold = true;
    const { onHeader } = this.options;
    if (onHeader !== undefined) guarded(onHeader)(decodeMetadata(metadata));
  }

  trailer(trailers: RawMetadata | undefined): void {
    const { onTrailer } = this.options;
    if (onTrailer !== undefined) guarded(onTrailer)(decodeMetadata(trailers));
  }
}
