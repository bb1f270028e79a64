import { type AnswerCarrier, type NotificationCarrier, prioritize, type RequestHandler } from "../call/carrier.js";
import { codecIn, decodePayload } from "../call/messages/payload.js";
import type { SchemaHandshake } from "../call/messages/schema-handshake.js";
import type { FormatTable } from "../call/messages/session-format.js";
import type { BlobCode } from "../contract/blob-code.js";
import { type AnyMethod, fullName } from "../contract/descriptor.js";
import { streamsInput } from "../contract/directions.js";
import { asError, ProtocolError, RpcError } from "../errors.js";
import type { MemoryBudget } from "../memory-budget.js";
import type { Frame } from "../wire/frame.js";
import type { SessionCompression } from "../transport/compression.js";
import { type IncomingRequest, readRequest } from "../wire/request.js";
import { readOptionalHead } from "../wire/head.js";
import { type ContextSettings, IncomingContext } from "./context.js";
import type { Admission } from "./admission.js";
import { Reply } from "./reply.js";
import { MisfitNotices } from "./misfit-notices.js";
import { runNotification } from "./notification.js";
import { requireRoomToDecode } from "./require-room.js";
import { callBytes } from "./served-call.js";
import { serveAttempt } from "./resumable/serve-attempt.js";
import { requirePositions } from "../contract/position.js";
import { inputFingerprint } from "./once/fingerprint.js";
import type { BoundMethod, MethodTable, ReservedMethods } from "./router.js";
import { MISFIT_NOTICE } from "../wire/misfit-notice.js";
import * as FrameType from "../wire/frame-type.js";
import { listed } from "./listed.js";

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
export interface DispatchSettings<Context> extends ContextSettings<Context> {
  /** The session, which serves its reserved methods without a router. */
  readonly host: { readonly reserved: ReservedMethods | undefined };
  readonly table: MethodTable<Context>;
  readonly schemas: SchemaHandshake;
  readonly onError: ErrorHook;
  readonly admission: Admission;
  readonly budget: MemoryBudget;
  /** Name of the peer: its address or URL, if it is known. */
  readonly peer: string | undefined;
  readonly compression: SessionCompression | undefined;
  /** The codecs that the peer may choose. */
  readonly formats: FormatTable;
}

/** Serves incoming calls, from request frame to reply. */
export class Dispatcher<Context> implements RequestHandler {
  private settings: DispatchSettings<Context>;
  private misfits: MisfitNotices | undefined = undefined;
  /** The fingerprint of the last input of a method that is `once`. */
  private fingerprint: string | undefined = undefined;

  constructor(settings: DispatchSettings<Context>) {
    this.settings = settings;
  }

  /** Calls that begin from now on have this connection; those in progress keep theirs, and can look at this one. */
  identify(connection: Context): void {
    this.settings = { ...this.settings, connection };
    this.settings.identity?.renew(connection);
  }

  get formats(): FormatTable {
    return this.settings.formats;
  }

  onRequest(carrier: AnswerCarrier, frame: Frame): void {
    const { callId } = frame;
    const request = readRequest(frame);
    const bound = this.find(request);
    if (bound === undefined) {
      new Reply(carrier, callId, undefined, this.settings).refuse(this.unknownMethod(request));
      return;
    }
    const { method } = bound;
    if (method.priority !== undefined) prioritize(carrier, method.priority);
    const { limits, schemas } = this.settings;
    let context: IncomingContext<Context>;
    let input: unknown;
    let differs = false;
    let bytes = 0;
    try {
      this.settings.admission.requireRoom();
      const head = readOptionalHead(frame, request.cursor, limits.maxMetadataBytes);
      if (head?.fingerprint !== undefined) differs = schemas.learn(method, head.fingerprint);
      if (head?.codec !== undefined) carrier.readIn(head.codec);
      if (head?.resume !== undefined) {
        const request = { carrier, callId, head, resume: head.resume };
        serveAttempt(request, bound, this.settings, (own) => new Dispatcher(own));
        return;
      }
      if (method.kind === "notify") throw wrongKind(method, "a request");
      if (!streamsInput(method)) input = this.decode(carrier, method, frame, request);
      else if (request.cursor.position < request.cursor.end) throw wrongKind(method, "a request with a message");
      const timeoutMs = head?.timeoutMs === undefined ? undefined : Math.min(head.timeoutMs, limits.maxTimeoutMs);
      if (head?.from !== undefined) requirePositions(method, head.from);
      context = new IncomingContext(method, timeoutMs, head?.metadata, this.settings, head?.from);
      if (method.once !== undefined) context.keyedBy(this.fingerprint);
      bytes = this.bytesOf(frame, streamsInput(method) ? 0 : this.settings.budget.decodedBytes);
    } catch (error) {
      if (asError(error) instanceof ProtocolError) throw error;
      const explained = schemas.explain(method, RpcError.from(error, "invalid_argument"));
      new Reply(carrier, callId, undefined, this.settings).refuse(explained, differs ? method.fingerprint : undefined);
      return;
    }
    if (differs) context.tellSchema();
    const reply = new Reply(carrier, callId, context, this.settings, bytes);
    if (method.blobs === undefined) reply.serve(bound as BoundMethod, input);
    else reply.serve(withBlobs(bound as BoundMethod, method.blobs, this.settings), input);
  }

  onNotify(carrier: NotificationCarrier, frame: Frame): void {
    const request = readRequest(frame);
    if (request.methodId === MISFIT_NOTICE) {
      const { table, onError } = this.settings;
      this.misfits ??= new MisfitNotices(table, onError);
      this.misfits.receive(request);
      return;
    }
    const bound = this.settings.table.find(request.serviceId, request.methodId);
    try {
      if (bound === undefined) throw this.unknownMethod(request);
      this.runNotify(carrier, bound, frame, request);
    } catch (error) {
      if (asError(error) instanceof ProtocolError) throw error;
      const { serviceId, methodId } = request;
      this.settings.onError(error, {
        method: bound === undefined ? `${serviceId}/${methodId}` : fullName(bound.method),
      });
    }
  }

  onOversized(carrier: AnswerCarrier, { type, callId }: Frame, error: RpcError): void {
    if (type === FrameType.Request) new Reply(carrier, callId, undefined, this.settings).refuse(error);
    else this.settings.onError(error, { method: "a notification that is too large" });
  }

  private find({ serviceId, methodId }: IncomingRequest): BoundMethod<Context> | undefined {
    const { table, host } = this.settings;
    return table.find(serviceId, methodId) ?? host.reserved?.find(serviceId, methodId);
  }

  private runNotify(
    carrier: NotificationCarrier,
    bound: BoundMethod<Context>,
    frame: Frame,
    request: IncomingRequest,
  ): void {
    const { method } = bound;
    if (method.kind !== "notify") throw wrongKind(method, "a notification");
    this.settings.admission.requireRoomForNotify();
    const head = readOptionalHead(frame, request.cursor, this.settings.limits.maxMetadataBytes);
    if (head?.fingerprint !== undefined) this.settings.schemas.learn(method, head.fingerprint);
    if (head?.codec !== undefined) carrier.readIn(head.codec);
    const input = this.decode(carrier, method, frame, request);
    const bytes = this.bytesOf(frame, this.settings.budget.decodedBytes);
    const context = new IncomingContext(method, undefined, head?.metadata, this.settings);
    runNotification(bound, input, context, this.settings, bytes);
  }

  private bytesOf({ start, end }: Frame, message: number): number {
    return callBytes(this.settings.budget, end - start, message);
  }

  private decode(
    { peerFormat }: NotificationCarrier,
    method: AnyMethod,
    frame: Frame,
    { cursor }: IncomingRequest,
  ): unknown {
    const { budget, compression } = this.settings;
    const codec = codecIn(peerFormat, method.input);
    requireRoomToDecode(budget, frame.end - cursor.position);
    if (method.once === undefined) return decodePayload(codec, frame, cursor.position, compression, budget, true);
    const form = peerFormat?.name ?? "msgpack";
    this.fingerprint = undefined;
    return decodePayload(codec, frame, cursor.position, compression, budget, true, (bytes, start, end) => {
      this.fingerprint = inputFingerprint(form, bytes, start, end);
    });
  }

  /** The caller adds the names that it knows; this side's are named only where reflection shows them to everybody. */
  private unknownMethod({ serviceId, methodId }: IncomingRequest): RpcError {
    const { table } = this.settings;
    const service = table.serviceName(serviceId);
    const text =
      service === undefined
        ? `no service with id ${serviceId} is served here${listed(table.reflectedServices())}`
        : `service ${service} has no method with id ${methodId} here${listed(table.reflectedMethods(service))}`;
    return new RpcError("unimplemented", text);
  }
}

function withBlobs({ method, handler }: BoundMethod, blobs: BlobCode, settings: unknown): BoundMethod {
  return { method, handler: blobs.serve(settings, handler) } as BoundMethod;
}

function wrongKind(method: AnyMethod, called: string): RpcError {
  return new RpcError("unimplemented", `${fullName(method)} is ${method.kind} here, and was called by ${called}`);
}
