import * as FrameType from "../wire/frame-type.js";
import { type AnswerCarrier, type NotificationCarrier, prioritize, type RequestHandler } from "../call/carrier.js";
import { codecIn, streamsInput } from "../call/messages/payload.js";
import type { FormatTable } from "../call/messages/session-format.js";
import { type AnyMethod, fullName, type MessageCodec } from "../contract/descriptor.js";
import { asError, ProtocolError, RpcError } from "../errors.js";
import type { SessionCompression } from "../transport/compression.js";
import { expanded } from "../transport/expand.js";
import { Cursor, cursorOf } from "../wire/cursor.js";
import { FLAG_COMPRESSED, FLAG_HEAD, type Frame } from "../wire/frame.js";
import { type Head, readHead } from "../wire/head.js";
import { MAX_REASON_BYTES, MISFIT_NOTICE, type MisfitNotice } from "../wire/misfit-notice.js";
import { makeRoomToDecode } from "./admission.js";
import type { ContextSettings, IncomingContext } from "./context.js";
import { runNotification, serveRequest, type ServerRequest } from "./serve.js";
import { Reply, type ReplySettings } from "./reply.js";
import type { BoundMethod, MethodTable, ReservedMethods } from "./router.js";
import { sanitizeForLog } from "./log-error.js";

export interface FailureSite {
  /**
   * Name of the method as "service/method", or its ids if the method is unknown. For a hook that threw: the hook's
   * name, such as "onSession".
   */
  readonly method: string;
  /** Address or URL of the peer that made the call; undefined if it is not known. */
  readonly peer?: string | undefined;
}

/**
 * Called with errors that the caller does not receive: exceptions of handlers and hooks, results that do not match
 * their schema, failed notifications, and reports of callers that could not decode a response.
 */
export type ErrorHook = (error: unknown, site: FailureSite) => void;

export interface DispatchSettings<Context> extends ContextSettings<Context>, ReplySettings {
  /** The session. It serves the methods that the protocol reserves. */
  readonly host: { readonly reserved: ReservedMethods | undefined };
  /** The methods that may be called here: `served`, or only the method of a resumable call. */
  readonly table: MethodTable<Context>;
  readonly onError: ErrorHook;
  /** Address or URL of the peer; undefined if it is not known. */
  readonly peer: string | undefined;
  readonly compression: SessionCompression | undefined;
  readonly formats: FormatTable;
}

/** A received request or notification. Its payload is the unread rest of the cursor. */
interface IncomingRequest {
  readonly serviceId: number;
  readonly methodId: number;
  readonly cursor: Cursor;
}

export function readRequest(frame: Frame): IncomingRequest {
  const cursor = cursorOf(frame);
  const at = cursor.take(2);
  const serviceId = ((frame.bytes[at] as number) << 8) | (frame.bytes[at + 1] as number);
  return { serviceId, methodId: cursor.varint(), cursor };
}

/** Finds the method of each request frame and serves the call. */
export class Dispatcher<Context> implements RequestHandler {
  #settings: DispatchSettings<Context>;
  #misfits: MisfitNotices | undefined = undefined;

  constructor(settings: DispatchSettings<Context>) {
    this.#settings = settings;
  }

  /**
   * Sets the connection value of later calls. Calls in progress keep theirs, and can read the new value as
   * `latestConnection`.
   */
  identify(connection: Context): void {
    this.#settings = { ...this.#settings, connection };
    this.#settings.identity?.renew(connection);
  }

  get formats(): FormatTable {
    return this.#settings.formats;
  }

  onRequest(carrier: AnswerCarrier, frame: Frame): void {
    const settings = this.#settings;
    const request = readRequest(frame);
    const bound = this.#find(request);
    if (bound === undefined) {
      new Reply(carrier, frame.callId, undefined, settings).refuse(this.#unknownMethod(request));
      return;
    }
    const { priority } = bound.method;
    if (priority !== undefined) prioritize(carrier, priority);
    void serveRequest(new FrameRequest(carrier, frame, request.cursor, bound, settings));
  }

  onNotify(carrier: NotificationCarrier, frame: Frame): void {
    const { table, onError } = this.#settings;
    const request = readRequest(frame);
    const { serviceId, methodId, cursor } = request;
    if (methodId === MISFIT_NOTICE) {
      this.#misfits ??= new MisfitNotices(table, onError);
      this.#misfits.receive(request);
      return;
    }
    const bound = table.find(serviceId, methodId);
    if (bound === undefined) onError(this.#unknownMethod(request), { method: `${serviceId}/${methodId}` });
    else void serveRequest(new FrameRequest(carrier, frame, cursor, bound, this.#settings));
  }

  onOversized(carrier: AnswerCarrier, { type, callId }: Frame, error: RpcError): void {
    if (type === FrameType.Request) new Reply(carrier, callId, undefined, this.#settings).refuse(error);
    else this.#settings.onError(error, { method: "a notification that is too large" });
  }

  #find({ serviceId, methodId }: IncomingRequest): BoundMethod<Context> | undefined {
    const { table, host } = this.#settings;
    return table.find(serviceId, methodId) ?? host.reserved?.find(serviceId, methodId);
  }

  /**
   * Returns the error for a request to an unknown method. It contains names only if reflection shows them to every
   * client. The client replaces ids by the names that it knows.
   */
  #unknownMethod({ serviceId, methodId }: IncomingRequest): RpcError {
    const { table } = this.#settings;
    const service = table.serviceName(serviceId);
    const text =
      service === undefined
        ? `no service with id ${serviceId} is served here${listed(table.reflectedServices())}`
        : `service ${service} has no method with id ${methodId} here${listed(table.reflectedMethods(service))}`;
    return new RpcError("unimplemented", text);
  }
}

/**
 * A request or notification that has arrived as a frame. `serveRequest` calls `readHead`, `readMessage`, then `respond`,
 * or `refuse` if one of them has thrown.
 */
class FrameRequest<Context> implements ServerRequest {
  readonly bound: BoundMethod;
  readonly settings: DispatchSettings<Context>;
  private readonly carrier: AnswerCarrier | NotificationCarrier;
  private readonly frame: Frame;
  /** Position in the frame: before the head, and after `readHead` before the message. */
  private readonly cursor: Cursor;
  /** Whether the caller's schema of the method differs from this side's. */
  private differs = false;

  constructor(
    carrier: AnswerCarrier | NotificationCarrier,
    frame: Frame,
    cursor: Cursor,
    bound: BoundMethod<Context>,
    settings: DispatchSettings<Context>,
  ) {
    this.carrier = carrier;
    this.frame = frame;
    this.cursor = cursor;
    this.bound = bound as BoundMethod;
    this.settings = settings;
  }

  get isAnswered(): boolean {
    return this.frame.type === FrameType.Request;
  }

  /** Size of the request in bytes. Undecoded metadata is part of it. */
  get size(): number {
    return this.frame.end - this.frame.start;
  }

  get encoding(): string {
    return this.carrier.peerFormat?.name ?? "msgpack";
  }

  get codec(): MessageCodec<unknown> | undefined {
    return codecIn(this.carrier.peerFormat, this.bound.method.input);
  }

  readHead(): Head | undefined {
    const { carrier, frame, cursor, settings, isAnswered } = this;
    const { method } = this.bound;
    if ((method.kind === "notify") === isAnswered) throw wrongKind(method, isAnswered ? "a request" : "a notification");
    const head = (frame.flags & FLAG_HEAD) === 0 ? undefined : readHead(cursor, settings.limits.maxMetadataBytes);
    if (head?.fingerprint !== undefined) this.differs = settings.schemas.learn(method, head.fingerprint);
    if (head?.codec !== undefined) carrier.readIn(head.codec);
    if (streamsInput(method) && cursor.position < cursor.end) throw wrongKind(method, "a request with a message");
    return head;
  }

  resume(context: IncomingContext<unknown>, resume: Uint8Array): void {
    const { bound, frame } = this;
    const carrier = this.carrier as AnswerCarrier;
    const settings = this.settings as DispatchSettings<unknown>;
    const serveAttempt = bound.extension?.serveAttempt;
    if (serveAttempt === undefined)
      throw new RpcError("unimplemented", `calls of ${fullName(bound.method)} are not resumable here`, {
        refused: true,
      });
    const dispatcher = (own: DispatchSettings<unknown>): RequestHandler => new Dispatcher(own);
    serveAttempt({ carrier, callId: frame.callId, context, resume, bound, settings, dispatcher });
  }

  readMessage(): Cursor {
    const { cursor } = this;
    if ((this.frame.flags & FLAG_COMPRESSED) === 0 || this.bound.method.input === undefined) return cursor;
    const { budget } = this.settings;
    makeRoomToDecode(budget, cursor.end - cursor.position);
    if (budget.room <= 0) throw budget.refusal("the message", true);
    return expanded(this.settings.compression, cursor);
  }

  respond(context: IncomingContext<unknown>, input: unknown, bytes: number): void {
    const { bound, settings } = this;
    const { blobs } = bound.method;
    if (!this.isAnswered) runNotification(bound, input, context, settings, bytes);
    else if (blobs === undefined) this.answer(context, bytes).serve(bound, input);
    else {
      const handler = blobs.serve(settings, bound) as BoundMethod["handler"];
      this.answer(context, bytes).serve({ ...bound, handler }, input);
    }
  }

  answer(context: IncomingContext<unknown> | undefined, bytes: number): Reply {
    if (this.differs) context?.tellSchema();
    return new Reply(this.carrier as AnswerCarrier, this.frame.callId, context, this.settings, bytes);
  }

  explain(error: unknown): RpcError {
    if (asError(error) instanceof ProtocolError) throw error;
    return this.settings.schemas.explain(this.bound.method, RpcError.from(error, "invalid_argument"));
  }

  refuse(error: RpcError): void {
    const { method } = this.bound;
    if (this.isAnswered) this.answer(undefined, 0).refuse(error, this.differs ? method.fingerprint : undefined);
    else this.settings.onError(error, { method: fullName(method) });
  }
}

function wrongKind(method: AnyMethod, called: string): RpcError {
  return new RpcError("unimplemented", `${fullName(method)} is ${method.kind} here, and was called by ${called}`);
}

const MAX_LISTED = 20;

/**
 * Returns the list of known names to append to an error message about an unknown name. Returns "" if `names` is empty.
 */
export function listed(names: readonly string[]): string {
  if (names.length === 0) return "";
  const more = names.length > MAX_LISTED ? ` and ${names.length - MAX_LISTED} more` : "";
  return ` (there are ${names.slice(0, MAX_LISTED).join(", ")}${more})`;
}

/**
 * Reads a schema mismatch notice after its method id, 0. Cuts a reason that is too long. Throws `ProtocolError` if the
 * frame ends too early.
 */
export function readMisfitNotice(cursor: Cursor): MisfitNotice {
  const methodId = cursor.varint();
  const { bytes, position, end } = cursor;
  return { methodId, reason: new Cursor(bytes, position, Math.min(end, position + MAX_REASON_BYTES)).text() };
}

/** Reports to the error hook that the peer could not decode a response, once for each method and session. */
export class MisfitNotices {
  readonly #table: MethodTable<never>;
  readonly #onError: ErrorHook;
  readonly #told: Set<AnyMethod> = new Set();

  constructor(table: MethodTable<never>, onError: ErrorHook) {
    this.#table = table;
    this.#onError = onError;
  }

  /** Handles a report of the peer. Ignores reports about methods that are not served here. */
  receive({ serviceId, cursor }: IncomingRequest): void {
    const { methodId, reason } = readMisfitNotice(cursor);
    const method = this.#table.find(serviceId, methodId)?.method;
    if (method === undefined || this.#told.has(method)) return;
    this.#told.add(method);
    const error = new RpcError("internal", `the caller could not decode the response: ${sanitizeForLog(reason)}`);
    this.#onError(error, { method: fullName(method) });
  }
}
