import { type AnswerCarrier, type NotificationCarrier, prioritize, type RequestHandler } from "../call/carrier.js";
import { decodePayload } from "../call/payload.js";
import { codecIn, type FormatTable } from "../call/session-format.js";
import { type AnyMethod, fullName, streamsInput, streamsOutput } from "../contract/descriptor.js";
import { ProtocolError, RpcError } from "../errors.js";
import type { Frame } from "../wire/frame.js";
import type { SessionCompression } from "../transport/compression.js";
import { type IncomingRequest, readOptionalHead, readRequest } from "../wire/request.js";
import { type ContextSettings, IncomingContext } from "./context.js";
import type { Admission } from "./admission.js";
import { Reply } from "./reply.js";
import type { BoundMethod, MethodTable } from "./router.js";
import * as FrameType from "../wire/frame-type.js";

/** Where a failed call happened. */
export interface FailureSite {
  /** "service/method", or the ids if the method is unknown; of a hook that threw, its name, such as "onSession". */
  readonly method: string;
}

/** Told of what the caller is not told: exceptions of handlers and hooks, results that do not fit, failed notifications. */
export type ErrorHook = (error: unknown, site: FailureSite) => void;

/** What dispatch needs of its session. */
export interface DispatchSettings<Context> extends ContextSettings<Context> {
  readonly table: MethodTable<Context>;
  readonly onError: ErrorHook;
  readonly admission: Admission;
  readonly compression: SessionCompression | undefined;
  /** The codecs that the peer may choose. */
  readonly formats: FormatTable;
}

/** Serves incoming calls, from request frame to reply. */
export class Dispatcher<Context> implements RequestHandler {
  private readonly settings: DispatchSettings<Context>;

  constructor(settings: DispatchSettings<Context>) {
    this.settings = settings;
  }

  get formats(): FormatTable {
    return this.settings.formats;
  }

  onRequest(carrier: AnswerCarrier, frame: Frame): void {
    const { callId } = frame;
    const request = readRequest(frame);
    const bound = this.settings.table.find(request.serviceId, request.methodId);
    if (bound === undefined) {
      new Reply(carrier, callId, undefined, this.settings).refuse(this.unknownMethod(request));
      return;
    }
    const { method } = bound;
    prioritize(carrier, method.priority);
    const { limits, schemas } = this.settings;
    let context: IncomingContext<Context>;
    let input: unknown;
    let differs = false;
    try {
      this.settings.admission.requireRoom(frame.size);
      const head = readOptionalHead(frame, request.cursor, limits.maxMetadataBytes);
      if (head?.fingerprint !== undefined) differs = schemas.learn(method, head.fingerprint);
      if (head?.codec !== undefined) carrier.readIn(head.codec);
      if (method.kind === "notify") throw wrongKind(method, "a request");
      if (!streamsInput(method)) input = this.decode(carrier, method, frame, request);
      else if (request.cursor.position < request.cursor.end) throw wrongKind(method, "a request with a message");
      const timeoutMs = head?.timeoutMs === undefined ? undefined : Math.min(head.timeoutMs, limits.maxTimeoutMs);
      context = new IncomingContext(method, timeoutMs, head?.metadata, this.settings);
    } catch (error) {
      if (error instanceof ProtocolError) throw error;
      const explained = schemas.explain(method, RpcError.from(error, "invalid_argument"));
      new Reply(carrier, callId, undefined, this.settings).refuse(explained, differs ? method.fingerprint : undefined);
      return;
    }
    if (differs) context.tellSchema();
    const reply = new Reply(carrier, callId, context, this.settings, frame.size);
    if (this.settings.admission.full) {
      reply.wait(() => this.run(bound, input, context, reply));
      if (streamsInput(method)) input = reply.receiveItems();
    } else {
      this.run(bound, streamsInput(method) ? reply.receiveItems() : input, context, reply);
    }
  }

  private run(
    { method, handler }: BoundMethod<Context>,
    input: unknown,
    context: IncomingContext<Context>,
    reply: Reply,
  ): void {
    try {
      const result = handler(input, context);
      if (streamsOutput(method)) reply.stream(result);
      else if (isPromiseLike(result)) reply.later(result);
      else reply.returned(result);
    } catch (error) {
      reply.threw(error);
    }
  }

  onNotify(carrier: NotificationCarrier, frame: Frame): void {
    const request = readRequest(frame);
    const bound = this.settings.table.find(request.serviceId, request.methodId);
    try {
      if (bound === undefined) throw this.unknownMethod(request);
      this.runNotify(carrier, bound, frame, request);
    } catch (error) {
      if (error instanceof ProtocolError) throw error;
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

  private runNotify(
    carrier: NotificationCarrier,
    { method, handler }: BoundMethod<Context>,
    frame: Frame,
    request: IncomingRequest,
  ): void {
    if (method.kind !== "notify") throw wrongKind(method, "a notification");
    const { admission, onError } = this.settings;
    admission.requireRoomForNotify();
    const head = readOptionalHead(frame, request.cursor, this.settings.limits.maxMetadataBytes);
    if (head?.fingerprint !== undefined) this.settings.schemas.learn(method, head.fingerprint);
    if (head?.codec !== undefined) carrier.readIn(head.codec);
    const input = this.decode(carrier, method, frame, request);
    const result = handler(input, new IncomingContext(method, undefined, head?.metadata, this.settings));
    if (!isPromiseLike(result)) return;
    const { size } = frame;
    admission.begin(size);
    result.then(
      () => admission.end(size),
      (error: unknown) => {
        admission.end(size);
        onError(error, { method: fullName(method) });
      },
    );
  }

  private decode(
    { peerFormat }: NotificationCarrier,
    method: AnyMethod,
    frame: Frame,
    { cursor }: IncomingRequest,
  ): unknown {
    return decodePayload(codecIn(peerFormat, method.input), frame, cursor, this.settings.compression);
  }

  private unknownMethod({ serviceId, methodId }: IncomingRequest): RpcError {
    const service = this.settings.table.serviceName(serviceId);
    return new RpcError(
      "unimplemented",
      service === undefined
        ? `no service with id ${serviceId} is served here`
        : `service ${service} has no method with id ${methodId} here`,
    );
  }
}

function wrongKind(method: AnyMethod, called: string): RpcError {
  return new RpcError("unimplemented", `${fullName(method)} is ${method.kind} here, and was called by ${called}`);
}

function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
