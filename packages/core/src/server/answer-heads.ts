import type { RpcError } from "../errors.js";
import { Metadata } from "../metadata.js";
import type { HeadFields } from "../wire/head.js";
import { encodeMetadata } from "../wire/metadata.js";

/** Metadata that a handler sends with its response, as heads of the response's frames. */
export class AnswerHeads {
  readonly metadata: Metadata = new Metadata();
  readonly trailers: Metadata = new Metadata();
  /** Fingerprint of the method's schema, if the caller has another one. */
  fingerprint: number | undefined = undefined;
  private metadataSent = false;
  private readonly maxBytes: number;

  constructor(maxMetadataBytes: number) {
    this.maxBytes = maxMetadataBytes;
  }

  /** Returns the head that precedes the response; undefined if there is none. Throws `RpcError` `resource_exhausted`. */
  first(): HeadFields | undefined {
    const head = this.unsent();
    this.metadataSent = true;
    return head;
  }

  /** Returns the head of the last frame; an error's metadata is among its trailers. Throws as `first` does. */
  last(error?: RpcError): HeadFields | undefined {
    const said = error === undefined || error.metadata.size === 0;
    const all = said ? this.trailers : new Metadata([...this.trailers, ...error.metadata]);
    const trailers = encodeMetadata(all, this.maxBytes);
    const head = this.unsent();
    return head === undefined && trailers === undefined ? undefined : { ...head, trailers };
  }

  private unsent(): HeadFields | undefined {
    if (this.metadataSent) return undefined;
    const metadata = encodeMetadata(this.metadata, this.maxBytes);
    const { fingerprint } = this;
    return metadata === undefined && fingerprint === undefined ? undefined : { metadata, fingerprint };
  }
}
