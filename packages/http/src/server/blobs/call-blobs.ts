import { type Limits, RpcError, type TypedCaller } from "@quicrpc/core";
import type { BlobSource } from "@quicrpc/blobs";
import type { AnyMethod, MessageCodec } from "@quicrpc/core/generated";
import { type Admission, fullName, type IncomingContext, type MemoryBudget, Received } from "@quicrpc/core/internal";
import {
  type BlobHost,
  type BlobReference,
  DIGEST_TRAILER,
  type Offer,
  Offered,
  type OffersBlobs,
  type ReadBlob,
} from "@quicrpc/blobs/internal";
import { blobCodec, type BlobNames, referencesIn } from "../../protocol/blob-messages.js";
import type { MessageFormat } from "../message-formats.js";
import type { Bound } from "../routes.js";
import { NO_REFERENCE, Reading } from "./reading.js";
import type { Downloads } from "./downloads.js";
import type { Upload } from "./upload.js";
import type { PendingUploads, Requester } from "./uploads.js";

export interface SharedBlobs {
  readonly uploads: PendingUploads;
  readonly downloads: Downloads;
  readonly limits: Limits;
  readonly prefix: string;
}

const never: Promise<never> = new Promise(() => {});

/**
 * The blobs of one call: completed uploads that its input refers to, and blobs of its response that the client can
 * download afterwards.
 */
export class CallBlobs {
  private readonly shared: SharedBlobs;
  private readonly method: AnyMethod;
  private readonly requester: Requester;
  private readonly sent: BlobNames;
  private readonly answerNames: BlobNames;
  private readonly uploads: { readonly upload: Upload; readonly source: Offered }[] = [];

  constructor(shared: SharedBlobs, method: AnyMethod, requester: Requester) {
    this.shared = shared;
    this.method = method;
    this.requester = requester;
    const urlOf = (field: string, id: string): string => `${shared.prefix}/${fullName(method)}/${field}/${id}`;
    this.sent = { ids: [], urlOf };
    this.answerNames = { ids: [], urlOf };
  }

  /**
   * Returns the codec of the call's input, which replaces blobs by references to uploads; undefined if the method has
   * no input.
   */
  inputCodec(format: MessageFormat): MessageCodec<unknown> | undefined {
    const { input = [] } = this.method.blobs?.fields ?? {};
    const codec = format.codecOf(this.method.input, "input");
    return codec === undefined || input.length === 0 ? codec : blobCodec(codec, format.name, input, this.sent);
  }

  /** Returns the format of the call's response, in which blobs are references to downloads. */
  answerFormat(format: MessageFormat): MessageFormat {
    const { output = [] } = this.method.blobs?.fields ?? {};
    if (output.length === 0) return format;
    return {
      name: format.name,
      codecOf: (codec, role) =>
        codec && blobCodec(format.codecOf(codec, role) ?? codec, format.name, output, this.answerNames),
    };
  }

  /**
   * Finds the uploads that an input refers to, and returns the input with their descriptions. Throws `RpcError` if an
   * upload does not exist or is incomplete.
   */
  private async received(message: unknown): Promise<unknown> {
    if (message instanceof Received)
      return new Received(await this.received(message.value), message.arrived, message.decoded);
    const { input = [] } = this.method.blobs?.fields ?? {};
    const taken = { ...(message as Record<string, unknown>) };
    for (const [field, [index]] of referencesIn(message, input)) {
      const { name, maxBytes = this.shared.limits.maxBlobBytes, digest, resumable } = field;
      const site = `${fullName(this.method)}/${name}`;
      const id = this.sent.ids[index];
      if (id === undefined) throw new RpcError("invalid_argument", `${name} does not refer to an upload`);
      const upload = await this.shared.uploads.find(id, site, this.requester, maxBytes);
      const length = await upload.stored.size();
      const { info } = upload.stored;
      if (!info.isComplete)
        throw new RpcError(
          "failed_precondition",
          `the upload of ${name} is not complete: ${length} bytes have arrived`,
        );
      if (digest !== undefined && info.sha256 === undefined)
        throw new RpcError("failed_precondition", `the upload of ${name} has no Repr-Digest with its SHA-256`);
      const source = new Offered({ content: () => upload.stored.read(), length }, NO_REFERENCE, () => {});
      const said = [this.uploads.push({ upload, source }) - 1, length, info.type, info.name] as const;
      taken[name] = (resumable === true ? [...said, id] : said) satisfies BlobReference;
    }
    return this.uploads.length === 0 ? message : taken;
  }

  /** Returns a copy of the method whose handler receives and returns blobs. */
  bound({ method, handler, authorize }: Bound<unknown>, admission: Admission, budget: MemoryBudget): Bound<unknown> {
    const { limits } = this.shared;
    const settings = { host: this.host(budget), limits, admission, isCounted: true };
    const serve = method.blobs?.serve(settings, { handler, authorize }) as (
      input: unknown,
      context: unknown,
    ) => unknown;
    return {
      method,
      handler: async (input, context) => {
        let received: unknown;
        try {
          received = await this.received(input);
        } catch (error) {
          // Authorization comes first, so that a caller without permission does not learn which uploads exist.
          await authorize?.(context);
          throw error;
        }
        return this.serve(serve, received, context);
      },
    };
  }

  private async serve(
    serve: (input: unknown, context: unknown) => unknown,
    input: unknown,
    context: unknown,
  ): Promise<unknown> {
    const { uploads } = this;
    const release = (): void => {
      for (const { source } of uploads) source.release();
    };
    if (uploads.length > 0) (context as IncomingContext<unknown>).signal.addEventListener("abort", release);
    for (const { upload } of uploads) upload.hold();
    try {
      const answer = await serve(input, context);
      // The uploads of a failed call are kept, because the client may repeat the call with them.
      for (const { upload } of uploads)
        await upload.remove(new RpcError("not_found", "the upload was taken by its call"));
      return answer;
    } finally {
      release();
      for (const { upload } of uploads) upload.unhold();
    }
  }

  private host(budget: MemoryBudget): BlobHost {
    const offers: OffersBlobs = {
      find: () => undefined,
      add: (source, _isAnswer, isResumable) => this.offer(source, isResumable),
    };
    const start = (_method: AnyMethod, request: ReadBlob, options: { readonly signal?: AbortSignal } = {}): unknown =>
      this.read(request, options.signal);
    return {
      limits: this.shared.limits,
      budget,
      closed: never,
      reserved: offers,
      start: start as unknown as TypedCaller["start"],
    } as unknown as BlobHost;
  }

  private offer(source: BlobSource, isResumable: boolean): Offer {
    const download = this.shared.downloads.add(source, fullName(this.method), this.requester);
    const { length = null, type = "", name = "" } = download.blob;
    const said = [this.answerNames.ids.push(download.id) - 1, length, type.slice(0, 255), name.slice(0, 1024)] as const;
    const reference: BlobReference = isResumable ? [...said, ""] : said;
    return { reference, failure: undefined, release: () => download.release() };
  }

  private read({ ref, from = 0, sha256 }: ReadBlob, signal: AbortSignal | undefined): unknown {
    const { upload, source } = this.uploads[ref] as (typeof this.uploads)[number];
    const reading = new Reading();
    const chunks = async function* (): AsyncGenerator<Uint8Array> {
      for await (const chunk of source.read(from, sha256, false, reading)) {
        if (reading.failure !== undefined) throw reading.failure;
        if (signal?.aborted === true) throw new RpcError("cancelled", "the read was stopped", { cause: signal.reason });
        yield chunk;
      }
      const said = upload.stored.info.sha256;
      if (said !== undefined) reading.trailers.set(DIGEST_TRAILER, said);
    };
    return Object.assign(chunks(), { trailers: reading.trailers });
  }
}
