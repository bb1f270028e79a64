// A service with blobs that resume after the loss of a session, and a handler that stores them.
import { type Router, RpcError } from "@quicrpc/core";
import type { BlobSource, ReadBlobOptions, ReceivedBlob } from "@quicrpc/blobs";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { blobCalls } from "@quicrpc/blobs/generated";

const service = { name: "test.v1.ResumableBlobs", id: 4733 };

/** A codec of messages whose sender gives one type and whose receiver gets another. */
const codec = <Sent, Received>(): ReturnType<typeof uncheckedCodec<Sent>> &
  ReturnType<typeof uncheckedCodec<Received>> => uncheckedCodec<never>();

const file = { name: "file", resumable: true, digest: "sha-256" } as const;

export const blobMethods = {
  upload: defineMethod<"unary", { file: BlobSource }, { file: ReceivedBlob }, number, number>(
    service,
    "unary",
    "upload",
    {
      id: 1,
      input: codec<{ file: BlobSource }, { file: ReceivedBlob }>(),
      output: uncheckedCodec<number>(),
      blobs: blobCalls({ input: [file] }),
    },
  ),
  download: defineMethod<"unary", number, number, { file: BlobSource }, { file: ReceivedBlob }>(
    service,
    "unary",
    "download",
    {
      id: 2,
      input: uncheckedCodec<number>(),
      output: codec<{ file: BlobSource }, { file: ReceivedBlob }>(),
      blobs: blobCalls({ output: [file] }),
    },
  ),
};

export const patterned = (length: number, seed = 31): Uint8Array<ArrayBuffer> =>
  new Uint8Array(length).map((_, at) => (at * seed) % 251);

/** Chunks of `bytes` for a sender. */
export async function* inChunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** Keeps uploads by their ids, as a disk does: what was written stays when the handler ends. */
export class Keeper {
  /** Chunks of each upload. */
  readonly parts: Map<string, Uint8Array[]> = new Map();
  /** Handlers of uploads that were entered, and those that have come to their end. */
  entered = 0;
  completed = 0;
  /** Returns the source of a download. */
  source: () => BlobSource = () => new Blob([]);
  /** Called with each chunk that was kept. */
  onChunk: (chunk: Uint8Array) => void = () => {};
  private readonly turns: Map<string, number> = new Map();

  get router(): Router {
    return createRouter(blobMethods, {
      upload: ({ file: given }) => this.keep(given),
      download: () => ({ file: this.source() }),
    });
  }

  /** The bytes of the one upload. */
  get bytes(): Buffer {
    return Buffer.concat([...this.parts.values()].flat());
  }

  private async keep(given: ReceivedBlob): Promise<number> {
    const { id = "" } = given;
    this.entered++;
    const turn = (this.turns.get(id) ?? 0) + 1;
    this.turns.set(id, turn);
    const part = this.parts.get(id) ?? [];
    this.parts.set(id, part);
    for await (const chunk of given.chunks(this.after(part))) {
      if (this.turns.get(id) !== turn) throw new RpcError("aborted", "another attempt has begun");
      part.push(chunk);
      this.onChunk(chunk);
    }
    this.completed++;
    return Buffer.concat(part).length;
  }

  private after(part: readonly Uint8Array[]): ReadBlobOptions {
    const kept = part.slice();
    return kept.length === 0 ? {} : { after: inChunks(Buffer.concat(kept), 1000) };
  }
}
