import * as FrameType from "../wire/frame-type.js";
import { type AnswerCarrier, type NotificationCarrier, prioritize, type RequestHandler } from "../call/carrier.js";
import { codecIn } from "../call/messages/payload.js";
import type { FormatTable } from "../call/messages/session-format.js";
import { type AnyMethod, fullName, type MessageCodec } from "../contract/descriptor.js";
import { streamsInput } from "../contract/directions.js";
import { asError, ProtocolError, RpcError } from "../errors.js";
import type { SessionCompression } from "../transport/compression.js";
import { expanded } from "../transport/expand.js";
import type { Cursor } from "../wire/cursor.js";
import { FLAG_COMPRESSED, type Frame } from "../wire/frame.js";
import { type Head, readOptionalHead } from "../wire/head.js";
import { MISFIT_NOTICE } from "../wire/misfit-notice.js";
import { type IncomingRequest, readRequest, readMisfitNotice } from "../wire/request.js";
import { makeRoomToDecode } from "./admission.js";
import type { ContextSettings, IncomingContext } from "./context.js";
import { runNotification, serve, type ServerRequest } from "./serve.js";
import { Reply, type ReplySettings } from "./reply.js";
import type { BoundMethod, MethodTable, ReservedMethods } from "./router.js";
import { sanitizeForLog } from "./log-error.js";

/** The place of a failure. */
export interface FailureSite {
  /** "service/method", or the ids if the method is unknown; of a hook that threw, its name, such as "onSession". */
  readonly method: string;
  /** Address or URL of the peer that made the call, if the session knows it. */
  readonly peer?: string | undefined;
}

/**
 * Called with failures that the caller does not receive: exceptions of handlers and hooks, results that do not fit
 * their schema, failed notifications; and with reports of answers that the caller could not read.
 */
export type ErrorHook = (error: unknown, site: FailureSite) => void;

/** Settings of a dispatcher. */
export interface DispatchSettings<Context> extends ContextSettings<Context>, ReplySettings {
  /** The session, which serves its reserved methods without a router. */
  readonly host: { readonly reserved: ReservedMethods | undefined };
  readonly table: MethodTable<Context>;
  readonly onError: ErrorHook;
  /** Name of the peer: its address or URL, if it is known. */
  readonly peer: string | undefined;
  readonly compression: SessionCompression | undefined;
  /** The codecs that the peer may choose. */
  readonly formats: FormatTable;
}

/** Serves the requests that arrive as frames. */
export class Dispatcher<Context> implements RequestHandler {
  #settings: DispatchSettings<Context>;
  #misfits: MisfitNotices | undefined = undefined;

  constructor(settings: DispatchSettings<Context>) {
    this.#settings = settings;
  }

  /** Calls that begin from now on have this connection; those in progress keep theirs, and can look at this one. */
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
    void serve(new FrameRequest(carrier, frame, request.cursor, bound, settings));
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
    else void serve(new FrameRequest(carrier, frame, cursor, bound, this.#settings));
  }

  onOversized(carrier: AnswerCarrier, { type, callId }: Frame, error: RpcError): void {
    if (type === FrameType.Request) new Reply(carrier, callId, undefined, this.#settings).refuse(error);
    else this.#settings.onError(error, { method: "a notification that is too large" });
  }

  #find({ serviceId, methodId }: IncomingRequest): BoundMethod<Context> | undefined {
    const { table, host } = this.#settings;
    return table.find(serviceId, methodId) ?? host.reserved?.find(serviceId, methodId);
  }

  /** The caller adds the names that it knows; this side's are named only where reflection shows them to everybody. */
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

/** A request or notification in a frame. */
class FrameRequest<Context> implements ServerRequest {
  readonly bound: BoundMethod;
  readonly settings: DispatchSettings<Context>;
  private readonly carrier: AnswerCarrier | NotificationCarrier;
  private readonly frame: Frame;
  /** Before the head until it is read, then before the message. */
  private readonly cursor: Cursor;
  /** Whether the caller has another schema of the method. */
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

  /** Metadata is kept undecoded, in the bytes of the frame. */
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
    const head = readOptionalHead(frame, cursor, settings.limits.maxMetadataBytes);
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

/** Most names in a message. */
const MAX_LISTED = 20;

/**
 * Returns the list of known names that is appended to a message about an unknown one; empty if there are none to show.
 */
export function listed(names: readonly string[]): string {
  if (names.length === 0) return "";
  const more = names.length > MAX_LISTED ? ` and ${names.length - MAX_LISTED} more` : "";
  return ` (there are ${names.slice(0, MAX_LISTED).join(", ")}${more})`;
}

/** Reports responses that the peer could not read to the error hook, once per method and session. */
export class MisfitNotices {
  readonly #table: MethodTable<never>;
  readonly #onError: ErrorHook;
  readonly #told: Set<AnyMethod> = new Set();

  constructor(table: MethodTable<never>, onError: ErrorHook) {
    this.#table = table;
    this.#onError = onError;
  }

  /** Receives a notice. Notices about methods that are not served here are dropped. */
  receive({ serviceId, cursor }: IncomingRequest): void {
    const { methodId, reason } = readMisfitNotice(cursor);
    const method = this.#table.find(serviceId, methodId)?.method;
    if (method === undefined || this.#told.has(method)) return;
    this.#told.add(method);
    const error = new RpcError("internal", `its caller could not read the answer: ${sanitizeForLog(reason)}`);
    this.#onError(error, { method: fullName(method) });
  }
}
