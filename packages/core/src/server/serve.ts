import { streamsInput } from "../call/messages/payload.js";
import { decodeWithin } from "../msgpack/decode-within.js";
import { type AnyMethod, fullName, type MessageCodec } from "../contract/descriptor.js";
import { requirePositions } from "../call/items/positions.js";
import { RpcError, untracedError } from "../errors.js";
import { callBytes, makeRoomToDecode } from "./admission.js";
import { type ContextSettings, IncomingContext, type ReceivedMetadata } from "./context.js";
import { type BoundMethod, type MessageBytes, refusing } from "./router.js";
import { type ServedCall, type ServedCallSettings, isPromiseLike } from "./served-call.js";

export interface RequestHead {
  /** Time until the caller's deadline, in milliseconds; undefined if there is none. */
  readonly timeoutMs: number | undefined;
  readonly metadata: ReceivedMetadata;
  /** Cursor of the last item that the caller has received; the stream continues after it. */
  readonly from: string | undefined;
  /** Identifies the resumable call of which this request is an attempt; undefined for other calls. */
  readonly resume?: Uint8Array | undefined;
}

/** A request to a method: a frame of a session, or an HTTP request. */
export interface ServerRequest {
  readonly bound: BoundMethod;
  readonly settings: ServedCallSettings & ContextSettings<unknown>;
  /** Whether the sender receives a response. False for a notification in a frame. */
  readonly isAnswered: boolean;
  /** Number of bytes of the request that stay in memory while the call is in progress. */
  readonly size: number;
  /** Name of the message encoding, such as "msgpack". */
  readonly encoding: string;
  /** Codec of the request's message; undefined if the method has no input. */
  readonly codec: MessageCodec<unknown> | undefined;
  /**
   * Decodes the fields before the message. Throws if they are malformed, or if the method does not support this kind of
   * request.
   */
  readHead(): RequestHead | undefined;
  /** Serves one attempt of a resumable call. Throws `RpcError` if the attempt is refused. */
  resume?(context: IncomingContext<unknown>, resume: Uint8Array): void;
  /** Returns the encoded message, or a promise if it has not arrived yet. */
  readMessage(): MessageBytes | Promise<MessageBytes>;
  /** Runs the handler and sends the response. */
  respond(context: IncomingContext<unknown>, input: unknown, bytes: number): void;
  /** Creates the object that sends the response of the call. */
  answer(context: IncomingContext<unknown>, bytes: number): ServedCall;
  /**
   * Converts `error` to the error that the sender receives. Throws `error` if it concerns more than this request, such
   * as a `ProtocolError`.
   */
  explain(error: unknown): RpcError;
  /** Responds with an error. The handler does not run. */
  refuse(error: RpcError): void;
}

/** Serves a request. Returns undefined if the message has arrived, otherwise a promise that never rejects. */
export function serveRequest(request: ServerRequest): Promise<void> | undefined {
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
    const newContext = new IncomingContext<unknown>(method, timeoutMs, head?.metadata, settings, head?.from);
    if (head?.resume !== undefined) {
      request.resume?.(newContext, head.resume);
      return undefined;
    }
    context = newContext;
    if (!streamsInput(method)) message = request.readMessage();
  } catch (error) {
    refuse(request, context, error);
    return undefined;
  }
  return message instanceof Promise ? runLater(request, context, message) : run(request, context, message);
}

/** A separate function, because V8 allocates the variables that closures use in each call of a function. */
function runLater(
  request: ServerRequest,
  context: IncomingContext<unknown>,
  message: Promise<MessageBytes>,
): Promise<void> {
  return message.then(
    (arrived) => run(request, context, arrived, true),
    (error: unknown) => refuse(request, context, error),
  );
}

/**
 * Decodes the message and runs the handler.
 *
 * @param isLate true if the message arrived after the request was accepted, so that the limits must be checked again
 */
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
 * Responds with an error. If the input is invalid, a caller without permission receives the permission error instead,
 * so that it learns nothing about the input. The interceptors that check permission run here, because they usually wrap
 * the handler, which does not run.
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
    // The call keeps only the metadata in memory, not the message.
    bytes = callBytes(settings.budget, Math.min(request.size, settings.limits.maxMetadataBytes), 0);
  } catch (full) {
    request.refuse(request.explain(full));
    return;
  }
  request.answer(context, bytes).serve(refusing(bound, error), undefined);
}

/**
 * Runs the interceptors that check permission for a request that is not a call itself, such as the upload of a blob.
 * Rejects with the error to send.
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
    throw new RpcError("internal", "the server failed to authorize the request");
  }
}

type NotificationSettings = Pick<ServedCallSettings, "admission" | "budget" | "onError" | "client">;

/**
 * Runs the handler of a notification. Errors are passed to `onError`, because the sender gets no response.
 *
 * @param bytes memory charged while an asynchronous handler runs
 */
export function runNotification<Context>(
  { method, handler }: BoundMethod<Context>,
  input: unknown,
  context: IncomingContext<Context>,
  settings: NotificationSettings,
  bytes: number,
): void {
  try {
    const result = handler(input, context);
    if (isPromiseLike(result)) awaitNotification(method, result, settings, bytes);
  } catch (error) {
    settings.onError(error, { method: fullName(method) });
  }
}

function awaitNotification(
  method: AnyMethod,
  result: PromiseLike<unknown>,
  { admission, budget, onError, client }: NotificationSettings,
  bytes: number,
): void {
  budget.charge(bytes);
  admission.begin(client);
  const end = (): void => {
    budget.release(bytes);
    admission.end(client);
  };
  result.then(end, (error: unknown) => {
    end();
    onError(error, { method: fullName(method) });
  });
}
