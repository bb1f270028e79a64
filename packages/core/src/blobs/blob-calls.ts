import type { TypedCaller } from "../call/base-caller.js";
import type { BlobCode, BlobField, BlobFields } from "../contract/blob-code.js";
import { RpcError } from "../errors.js";
import type { Limits } from "../limits.js";
import type { ReservedMethods } from "../server/router.js";
import type { MemoryBudget } from "../memory-budget.js";
import { type Offer, BlobOffers } from "./offers.js";
import { type BlobReference, ReceivedBlob, tooLarge } from "./received-blob.js";
import { resumedCall } from "./resumed-call.js";
import type { BlobSource } from "./source.js";

/** The session, as far as blobs need it. */
interface BlobHost extends TypedCaller {
  readonly limits: Limits;
  readonly budget: MemoryBudget;
  readonly closed: Promise<unknown>;
  /** Methods that the peer may call without a router. */
  reserved: ReservedMethods | undefined;
  /** Serves the peer's calls from now on, where it did not. */
  serveReserved(): Promise<void>;
}

/** A message whose fields are known to be blobs. */
type Fields = Readonly<Record<string, unknown>>;

/** Makes the code of a method whose messages have blobs. */
export function blobCalls(fields: BlobFields): BlobCode {
  const { input = [], output = [] } = fields;
  const isResumable = [...input, ...output].some(({ resumable }) => resumable === true);
  return {
    fields,
    around: isResumable ? resumedCall : undefined,
    async call(given, message, begin) {
      const host = given as BlobHost;
      const offers: Offer[] = [];
      try {
        const sent = offered(host, input, message, offers, false);
        if (offers.length > 0) await host.serveReserved();
        return received(host, output, await begin(sent));
      } catch (error) {
        const failed = offers.find(({ failure }) => failure !== undefined);
        if (failed === undefined) throw error;
        // What the source itself says of a transfer that cannot go on.
        if (failed.failure instanceof RpcError && failed.failure.code !== "aborted") throw failed.failure;
        throw new RpcError("aborted", `the source of the blob failed: ${String(failed.failure)}`, {
          cause: failed.failure,
        });
      } finally {
        for (const offer of offers) offer.release();
      }
    },
    serve(given, _method, handler) {
      const host = given as BlobHost;
      const serve = handler as (input: unknown, context: unknown) => unknown;
      const answer = async (message: unknown, context: unknown): Promise<unknown> => {
        const result = await serve(received(host, input, message), context);
        const offers: Offer[] = [];
        try {
          return offered(host, output, result, offers, true);
        } catch (error) {
          for (const offer of offers) offer.release();
          throw error;
        }
      };
      return answer;
    },
  };
}

/** `message` with references in place of its blobs, which the peer may read from now on. */
function offered(
  host: BlobHost,
  fields: readonly BlobField[],
  message: unknown,
  into: Offer[],
  isAnswer: boolean,
): unknown {
  if (fields.length === 0 || typeof message !== "object" || message === null) return message;
  const sent: Record<string, unknown> = { ...message };
  for (const { name, resumable = false } of fields) {
    const source = sent[name];
    if (source === undefined) continue;
    if (!(host.reserved instanceof BlobOffers)) host.reserved = new BlobOffers(host);
    const offer = (host.reserved as BlobOffers).add(source as BlobSource, isAnswer, resumable);
    into.push(offer);
    sent[name] = offer.reference;
  }
  return sent;
}

/** `message` with blobs in place of references. Throws `RpcError` `resource_exhausted` for one that is too large. */
function received(host: BlobHost, fields: readonly BlobField[], message: unknown): unknown {
  if (fields.length === 0) return message;
  const taken: Record<string, unknown> = { ...(message as Fields) };
  for (const { name, maxBytes = host.limits.maxBlobBytes, digest } of fields) {
    const reference = taken[name] as BlobReference | undefined;
    if (reference === undefined) continue;
    const [, length] = reference;
    if (length !== null && length > maxBytes) throw tooLarge(length, maxBytes);
    taken[name] = new ReceivedBlob(host, reference, maxBytes, digest !== undefined);
  }
  return taken;
}
