import { type Limits, RpcError } from "@quicrpc/core";
import type { AnyMethod, MessageCodec } from "@quicrpc/core/generated";
import { type BlobField, completeLimits, MemoryBudget } from "@quicrpc/core/internal";
import type { BlobOffers, ReadBlob } from "@quicrpc/blobs/internal";
import { blobCodec, type BlobNames, referencesIn } from "../protocol/blob-messages.js";
import { downloaded } from "./blob-download.js";
import { BlobUpload } from "./blob-upload.js";
import type { HttpClientCall } from "./http-call.js";
import { type CallCodecs, callUnary } from "./unary.js";

const never: Promise<never> = new Promise(() => {});

/**
 * Makes a call with blobs: uploads the blobs of its input, then sends the call. The blobs of the response are
 * downloaded when the application reads them.
 */
export async function callWithBlobs(call: HttpClientCall, input: unknown): Promise<unknown> {
  const host = new CallHost(call);
  return call.method.blobs?.call(host, input, (sent) => host.begin(sent));
}

/** Acts as the session of one call with blobs. */
class CallHost {
  readonly limits: Limits;
  readonly budget: MemoryBudget;
  readonly closed: Promise<never> = never;
  /** Blobs of the input that are uploaded; undefined if there are none. */
  reserved: BlobOffers | undefined = undefined;
  readonly #call: HttpClientCall;
  /** Field names of the response's blobs, by index in the response's list of blob ids. */
  readonly #fields: string[] = [];
  readonly #answerNames: BlobNames;

  constructor(call: HttpClientCall) {
    this.#call = call;
    this.limits = completeLimits(call.client.options.limits);
    this.budget = new MemoryBudget(this.limits.maxSessionBytes, "limits.maxSessionBytes");
    this.#answerNames = { ids: [], urlOf: (_, id) => id };
  }

  async begin(sent: unknown): Promise<unknown> {
    const call = this.#call;
    const { input = [], output = [] } = call.method.blobs?.fields ?? {};
    const names: BlobNames = { ids: [], urlOf: (_, id) => id };
    const message = { ...(sent as Record<string, unknown>) };
    const uploads: BlobUpload[] = [];
    // The end of the call must end the uploads, because a blob's source may never produce another chunk.
    const ended = new Promise<never>((_, reject) => {
      call.onSettled = () => reject(new RpcError("cancelled", "the call is over"));
    });
    ended.catch(() => {});
    try {
      for (const [field, reference] of referencesIn(sent, input)) {
        const upload = new BlobUpload(call, this.reserved as BlobOffers, field, reference);
        uploads.push(upload);
        const [, ...said] = reference;
        message[field.name] = [
          names.ids.push(await Promise.race([upload.send(), ended])) - 1,
          ...said,
        ] satisfies readonly unknown[];
      }
      const answer = await callUnary(call, input.length === 0 ? sent : message, this.#codecs(names));
      for (const [{ name }, [index]] of referencesIn(answer, output)) {
        if (this.#answerNames.ids[index] === undefined)
          throw call.unreadable(new RpcError("internal", `${name} has no URL`));
        this.#fields[index] = name;
      }
      return answer;
    } catch (error) {
      for (const upload of uploads) upload.discard();
      throw error;
    }
  }

  start(_method: AnyMethod, request: ReadBlob, { signal }: { readonly signal?: AbortSignal } = {}): unknown {
    const { ref } = request;
    const path = `/${this.#fields[ref]}/${this.#answerNames.ids[ref]}`;
    return downloaded(this.#call, path, request, signal);
  }

  #codecs(sent: BlobNames): CallCodecs {
    const { client, method } = this.#call;
    const { input = [], output = [] } = method.blobs?.fields ?? {};
    const of = (
      codec: MessageCodec<unknown> | undefined,
      fields: readonly BlobField[],
      names: BlobNames,
    ): MessageCodec<unknown> | undefined => {
      const messageCodec = client.codec.of(codec);
      return messageCodec === undefined || fields.length === 0
        ? messageCodec
        : blobCodec(messageCodec, client.codec.name, fields, names);
    };
    return { input: of(method.input, input, sent), output: of(method.output, output, this.#answerNames) };
  }
}
