import { type CallContext, type CallOptions, RpcError, type TypedCaller } from "@quicrpc/core";
import { type BlobFields, unaryCalls } from "@quicrpc/core/generated";
import {
  AnsweredCall,
  asError,
  type BlobCode,
  type BlobField,
  type Callee,
  type Calling,
  type CallingHost,
  type ChannelSettings,
  type ClientLimits,
  type DispatchSettings,
  followAnswer,
  type MemoryBudget,
  Received,
  type ReservedMethods,
  type ServingHost,
} from "@quicrpc/core/internal";
import { blobPrincipal, quotaOf } from "./blob-quota.js";
import { type Offer, BlobOffers } from "./offers.js";
import { type BlobReference, ReceivedBlob, tooLarge } from "./received-blob.js";
import { resumedCall } from "./resumed-call.js";
import { type BlobSource, type DescribedBlob, describedBlob } from "./source.js";

export interface OffersBlobs extends ReservedMethods {
  add(source: BlobSource, isAnswer: boolean, isResumable: boolean): Offer;
}

/** The members of a session, or of a request over HTTP, that blobs use. */
export interface BlobHost extends TypedCaller {
  readonly limits: ClientLimits;
  readonly budget: MemoryBudget;
  readonly closed: Promise<unknown>;
  /** Methods that the peer may call although no router serves them. */
  reserved: OffersBlobs | undefined;
  /** Serves calls of the session's peer. Undefined for a request over HTTP. */
  callee?: Callee;
}

interface BlobSession extends Omit<ServingHost, "reserved">, BlobHost {
  readonly settings: Pick<ChannelSettings, "prefix">;
  callee: Callee;
}

interface ServedSettings extends Pick<DispatchSettings<never>, "limits" | "admission" | "principal" | "once"> {
  readonly host: BlobHost;
  /** True if the uploads of this call were already counted for its principal. */
  readonly isCounted?: boolean;
}

type Fields = Readonly<Record<string, unknown>>;

/** Returns the code that sends and receives the blobs of one method. */
export function blobCalls(fields: BlobFields): BlobCode {
  const { input = [], output = [] } = fields;
  const isResumable = [...input, ...output].some(({ resumable }) => resumable === true);
  const call: BlobCode["call"] = (host, message, begin) => answered(host as BlobHost, fields, message, begin);
  const calling: Calling<"unary"> = {
    ...unaryCalls,
    around: isResumable ? resumedCall : undefined,
    create: (method) => new BlobCall(method),
  };
  return {
    fields,
    calling,
    call,
    observed: (message, onSent) => observed(input, message as Fields, onSent),
    serve(dispatchSettings, { handler, authorize }) {
      const settings = dispatchSettings as ServedSettings;
      const { host, isCounted } = settings;
      const serve = handler as (input: unknown, context: unknown) => unknown;
      const serveWithBlobs = async (message: unknown, context: unknown): Promise<unknown> => {
        let receivedInput: unknown;
        let releaseQuota: (() => void) | undefined;
        try {
          receivedInput = received(host, input, message);
          if (isCounted !== true) releaseQuota = admitted(settings, input, message, context as CallContext);
        } catch (error) {
          // A caller without permission learns that instead.
          await authorize?.(context as never);
          throw error;
        }
        let result: unknown;
        try {
          result = await serve(receivedInput, context);
        } finally {
          releaseQuota?.();
        }
        const offers: Offer[] = [];
        try {
          return offered(host, output, result, offers, true);
        } catch (error) {
          for (const offer of offers) offer.release();
          throw error;
        }
      };
      return serveWithBlobs;
    },
  };
}

/** A call that offers its blobs to the peer before it sends the request that refers to them. */
class BlobCall extends AnsweredCall {
  override start(host: CallingHost, message: unknown, options: CallOptions | undefined): void {
    const begin = (sent: unknown): Promise<unknown> => {
      const call = new AnsweredCall(this.method);
      call.start(host, sent, options);
      return call.answer;
    };
    followAnswer(this, this.method.blobs?.call(host, message, begin));
  }
}

/**
 * Makes one call with blobs on a session and returns its output. `begin` sends the request, with an input in which
 * references replace the blobs.
 */
async function answered(
  host: BlobHost,
  { input = [], output = [] }: BlobFields,
  message: unknown,
  begin: (input: unknown) => Promise<unknown>,
): Promise<unknown> {
  const offers: Offer[] = [];
  try {
    const sent = offered(host, input, message, offers, false);
    if (offers.length > 0) await serveReserved(host);
    return received(host, output, await begin(sent));
  } catch (error) {
    const failed = offers.find(({ failure }) => failure !== undefined);
    if (failed === undefined) throw error;
    const { failure } = failed;
    // The source's own error explains why the transfer cannot continue.
    if (failure instanceof RpcError && failure.code !== "aborted") throw failure;
    throw new RpcError("aborted", `the source of the blob failed: ${asError(failure).message}`, { cause: failure });
  } finally {
    for (const offer of offers) offer.release();
  }
}

/** Lets the peer read the offered blobs if the session serves no other calls. */
async function serveReserved(host: BlobHost): Promise<void> {
  const { callee } = host;
  if (callee === undefined || callee.onLane !== undefined) return;
  const { onlyReserved } = await import("./only-reserved.js");
  const session = host as BlobSession;
  if (session.callee === callee) session.callee = onlyReserved(session, session.settings.prefix);
}

/** Offers the blobs of `message` to the peer. Returns a copy of the message in which references replace the blobs. */
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
    host.reserved ??= new BlobOffers(host);
    const offer = host.reserved.add(source as BlobSource, isAnswer, resumable);
    into.push(offer);
    sent[name] = offer.reference;
  }
  return sent;
}

function observed(
  fields: readonly BlobField[],
  message: Fields,
  onSent: (field: string, bytes: number) => void,
): object {
  const copy: Record<string, unknown> = { ...message };
  for (const { name } of fields) {
    const source = copy[name];
    if (source === undefined) continue;
    const described = describedBlob(source as BlobSource);
    const onProgress: DescribedBlob["onProgress"] = (bytes, length) => {
      onSent(name, bytes);
      described.onProgress?.(bytes, length);
    };
    copy[name] = { ...described, onProgress };
  }
  return copy;
}

/**
 * Counts the blobs of an input for their principal. Returns a function that undoes this, or undefined for a message
 * without blobs. Throws `RpcError` `resource_exhausted` if the principal has too many blobs.
 */
function admitted(
  { host, limits, admission, principal, once }: ServedSettings,
  fields: readonly BlobField[],
  message: unknown,
  context: CallContext,
): (() => void) | undefined {
  const lengths = fields.flatMap(({ name, maxBytes = limits.maxBlobBytes }) => {
    const { [name]: field } = (message instanceof Received ? message.value : message) as Fields;
    const reference = field as BlobReference | undefined;
    return reference === undefined ? [] : [reference[1] ?? maxBytes];
  });
  if (lengths.length === 0) return undefined;
  const bytes = lengths.reduce((sum, length) => sum + length, 0);
  const owner = blobPrincipal(principal ?? once?.options.principal, context, host);
  return quotaOf(admission.load).enter(owner, lengths.length, bytes, limits);
}

/**
 * Returns a copy of `message` in which a `ReceivedBlob` replaces each reference. Throws `RpcError` `resource_exhausted`
 * for a blob that is too large.
 */
function received(host: BlobHost, fields: readonly BlobField[], message: unknown): unknown {
  if (fields.length === 0) return message;
  if (message instanceof Received) {
    return new Received(received(host, fields, message.value), message.arrived, message.decoded);
  }
  const converted: Record<string, unknown> = { ...(message as Fields) };
  for (const { name, maxBytes = host.limits.maxBlobBytes, digest } of fields) {
    const reference = converted[name] as BlobReference | undefined;
    if (reference === undefined) continue;
    const [, length] = reference;
    if (length !== null && length > maxBytes) throw tooLarge(length, maxBytes);
    converted[name] = new ReceivedBlob(host, reference, maxBytes, digest !== undefined);
  }
  return converted;
}
