import { decodeWithin } from "../msgpack/decode-within.js";
import { type MessageCodec, fullName } from "../contract/descriptor.js";
import { streamsInput } from "../contract/directions.js";
import { requirePositions } from "../call/items/positions.js";
import { RpcError, untracedError } from "../errors.js";
import { callBytes, makeRoomToDecode } from "./admission.js";
import { type ContextSettings, IncomingContext, type ReceivedMetadata } from "./context.js";
import { type BoundMethod, type MessageBytes, refusing } from "./router.js";
import { type ServedCall, type ServedCallSettings, isPromiseLike } from "./served-call.js";

/** The part of a request that precedes its message. */
export interface RequestHead {
  /** Milliseconds that the caller will still wait. */
  readonly timeoutMs: number | undefined;
  readonly metadata: ReceivedMetadata;
  /** Cursor of the last item that the caller has received. */
  readonly from: string | undefined;
  /** Set if the request is an attempt of a resumable call. */
  readonly resume?: Uint8Array | undefined;
}

/** A request for a method, in a frame or over HTTP. */
export interface ServerRequest {
  readonly bound: BoundMethod;
  readonly settings: ServedCallSettings & ContextSettings<unknown>;
  /** Whether the sender receives an answer; false for a notification in a frame. */
  readonly isAnswered: boolean;
  /** Bytes of the request that are held as long as its call is in progress. */
  readonly size: number;
  /** Name of the encoding of messages, for fingerprints. */
  readonly encoding: string;
  /** The codec of the request's message; undefined if the method has none. */
  readonly codec: MessageCodec<unknown> | undefined;
  /** Reads the head. Throws if it is malformed, or if the method does not support this kind of request. */
  readHead(): RequestHead | undefined;
  /** Serves an attempt of a resumable call. Throws `RpcError` if it is refused at once. */
  resume?(context: IncomingContext<unknown>, resume: Uint8Array): void;
  /** Returns the bytes of the message: at once, or when they have arrived. */
  readMessage(): MessageBytes | Promise<MessageBytes>;
  /** Runs the handler, and answers. */
  respond(context: IncomingContext<unknown>, input: unknown, bytes: number): void;
  /** Creates a call that sends an answer. */
  answer(context: IncomingContext<unknown>, bytes: number): ServedCall;
  /** Returns the error that the sender receives. Throws `error` if it concerns more than this request. */
  explain(error: unknown): RpcError;
  /** Answers with an error. No handler was entered. */
  refuse(error: RpcError): void;
}

/** Serves a request. Returns a promise, which never rejects, if its message is yet to arrive. */
export function serve(request: ServerRequest): Promise<void> | undefined {
  const { bound, settings } = request;
  const { method } = bound;
  const { admission, limits } = settings;
  let context: IncomingContext<unknown> | undefined;
  let message: MessageBytes | Promise<MessageBytes> | undefined;
  try {
    if (request.isAnswered) admission.requireRoom(settings.client);
    else admission.requireRoomForNotify();
    const head = request.readHead();
    if (head?.from !== undefined) requirePositions(method, head.from);
    const timeoutMs = head?.timeoutMs === undefined ? undefined : Math.min(head.timeoutMs, limits.maxTimeoutMs);
    const own = new IncomingContext<unknown>(method, timeoutMs, head?.metadata, settings, head?.from);
    if (head?.resume !== undefined) {
      request.resume?.(own, head.resume);
      return undefined;
    }
    context = own;
    if (!streamsInput(method)) message = request.readMessage();
  } catch (error) {
    refuse(request, context, error);
    return undefined;
  }
  if (!(message instanceof Promise)) return run(request, context, message);
  const begun = context;
  return message.then(
    (arrived) => run(request, begun, arrived, true),
    (error: unknown) => refuse(request, begun, error),
  );
}

/** @param isLate true if other requests may have been accepted since this one was */
function run(
  request: ServerRequest,
  context: IncomingContext<unknown>,
  message: MessageBytes | undefined,
  isLate: boolean = false,
): undefined {
  const { bound, settings } = request;
  const { admission, budget, client } = settings;
  let input: unknown;
  let bytes: number;
  try {
    if (isLate) {
      admission.requireRoom(client);
      const { deadline } = context;
      if (deadline !== undefined && Date.now() >= deadline)
        throw untracedError("deadline_exceeded", "the deadline has passed");
    }
    const { codec } = request;
    let decodedBytes = 0;
    if (message !== undefined && codec !== undefined) {
      const { bytes: encoded, position, end } = message;
      makeRoomToDecode(budget, end - position);
      input = decodeWithin(budget, codec, encoded, position, end, true);
      ({ decodedBytes } = budget);
      bound.extension?.onMessage?.(context, request.encoding, message);
    }
    bytes = callBytes(budget, request.size, decodedBytes);
  } catch (error) {
    refuse(request, context, error);
    return;
  }
  request.respond(context, input, bytes);
}

/**
 * Answers with an error. If the input is at fault, a caller without permission for the method receives that error
 * instead, and learns nothing about its input. Interceptors that check permission usually run around the handler, which
 * a request that cannot be read does not reach.
 */
function refuse(request: ServerRequest, context: IncomingContext<unknown> | undefined, thrown: unknown): void {
  const { bound, settings } = request;
  const error = request.explain(thrown);
  if (context === undefined || bound.authorize === undefined || error.refused || !request.isAnswered) {
    request.refuse(error);
    return;
  }
  let bytes: number;
  try {
    // The context keeps the metadata, but not the message.
    bytes = callBytes(settings.budget, Math.min(request.size, settings.limits.maxMetadataBytes), 0);
  } catch (full) {
    request.refuse(request.explain(full));
    return;
  }
  request.answer(context, bytes).serve(refusing(bound, error), undefined);
}

/**
 * Runs the interceptors that check permission, for a request that belongs to a call but is not a call. Rejects with the
 * error that its sender receives.
 */
export async function permit<Context>(
  { authorize }: BoundMethod<Context>,
  context: IncomingContext<Context>,
): Promise<void> {
  try {
    await authorize?.(context);
  } catch (error) {
    if (error instanceof RpcError && !error.fromCall) throw error;
    context.report(error);
    throw new RpcError("internal", "the server could not decide about the request");
  }
}

/**
 * Runs the handler of a notification. The sender does not wait; errors go to `onError`.
 * @param bytes charged if the handler is asynchronous
 */
export function runNotification<Context>(
  { method, handler }: BoundMethod<Context>,
  input: unknown,
  context: IncomingContext<Context>,
  { admission, budget, onError, client }: Pick<ServedCallSettings, "admission" | "budget" | "onError" | "client">,
  bytes: number,
): void {
  const failed = (error: unknown): void => onError(error, { method: fullName(method) });
  try {
    const result = handler(input, context);
    if (!isPromiseLike(result)) return;
    budget.charge(bytes);
    admission.begin(client);
    const end = (): void => {
      budget.release(bytes);
      admission.end(client);
    };
    result.then(end, (error: unknown) => {
      end();
      failed(error);
    });
  } catch (error) {
    failed(error);
  }
}
