import type { BlobCode } from "./blob-code.js";
import type { ItemCursor } from "./cursor.js";
import type { MethodMeta } from "./meta.js";
import type { MessageCodec } from "./codec.js";
import type { MethodErrors, NoErrors } from "./method-errors.js";

export type { MessageCodec, PayloadWriter, PlainCodec } from "./codec.js";

/**
 * Whether a call shares a lane with others or has a stream of its own. "auto": streams of messages, and methods whose last
 * call was large, have their own streams; other calls share a lane, or several, or have their own, by measured loss and
 * the packets in flight.
 */
export type Via = "auto" | "lane" | "stream";

/** The shapes of a call, by which side streams. */
export type MethodKind = "unary" | "notify" | "server_stream" | "client_stream" | "duplex";

/**
 * The code that makes the calls of one kind; what it does is the caller's side's to know. Each method brings it along, so that
 * a bundle has the kinds that its services have.
 */
export interface CallingCode<Kind extends MethodKind = MethodKind> {
  readonly kind: Kind;
  /** Errors that every method whose calls are made so declares, beside its own. */
  readonly errors?: MethodErrors;
  /**
   * Makes a call out of as many attempts as it takes, each of which is a call that `caller` begins: for the outermost caller that a program
   * uses. Undefined where a call is one attempt.
   */
  readonly around?: ((caller: unknown, method: AnyMethod, input: unknown, options: unknown) => unknown) | undefined;
}

/** The code that gives the calls of a method keys, so that each takes effect once; see `MethodDescriptor.once`. */
export interface OnceCode {
  /** Returns the options of a call with its key among the metadata: the one that is there, `onceKey`, or a new one. */
  keyed(options: object | undefined): object;
}

/**
 * One method as the runtime needs it. The type parameters are what the caller sends and the handler gets, what the
 * handler returns and the caller gets, and the errors it declares.
 */
export interface MethodDescriptor<
  Kind extends MethodKind = MethodKind,
  Sent = unknown,
  Received = Sent,
  Returned = unknown,
  Result = Returned,
  Errors extends MethodErrors = MethodErrors,
> {
  readonly kind: Kind;
  readonly calling: CallingCode;
  readonly name: string;
  /** 1 to 2^14-1, unique in the service. */
  readonly id: number;
  /** Undefined where the method takes nothing. */
  readonly input: MessageCodec<Sent, Received> | undefined;
  /** Codec of the result, or of each item. Undefined where the method returns nothing. */
  readonly output: MessageCodec<Returned, Result> | undefined;
  readonly idempotent: boolean;
  /** Calls change nothing. */
  readonly readOnly: boolean;
  /** Calls have keys, by which a call that is made again is answered and does not run again. Unary methods only. */
  readonly once?: OnceCode | undefined;
  /** Fields of its messages are blobs. Unary methods only. */
  readonly blobs?: BlobCode | undefined;
  /** Priority of a call's own stream, both ways; a method with one has its calls on streams of their own. See `CallOptions`. */
  readonly priority?: number | undefined;
  /** 32 bits that differ between two versions of the method that differ on the wire; undefined where it was given none. */
  readonly fingerprint?: number | undefined;
  /** "datagram": a notification is sent as one datagram, which may be lost but does not come late. */
  readonly delivery?: "datagram" | undefined;
  /** How its calls travel where the caller does not say; undefined: as the session does. */
  readonly via?: Via | undefined;
  /** Where the items have their cursors; undefined where they have none. */
  readonly cursor?: ItemCursor | undefined;
  /** Calls outlive the sessions that carry them, in the process that serves them. */
  readonly resumable?: boolean | undefined;
  /** Declared errors by name; see `rpcError`. */
  readonly errors: Errors;
  /** Metadata that the schema gives to the application; it is not part of the protocol. */
  readonly meta?: MethodMeta | undefined;
  readonly service: ServiceIdentity;
  /** @internal Throws `TypeError` for an option that calls do not have. Undefined in production builds of pages. */
  readonly checkOptions?: ((options: object) => void) | undefined;
}

/** Name and id of a service. */
export interface ServiceIdentity {
  readonly name: string;
  /** 16 bits. */
  readonly id: number;
  /** Loads details of the service for tools; calls do not need them. */
  readonly tooling?: (() => Promise<ServiceTooling>) | undefined;
}

/** Details of a service for tools: reflection, documentation, calls by hand. Plain JSON. */
export interface ServiceTooling {
  readonly docs?: string;
  readonly methods: Readonly<Record<string, MethodTooling>>;
  /** The shapes of its messages, as `quicrpc breaking` compares them. */
  readonly snapshot: unknown;
}

/** Details of a method for tools. */
export interface MethodTooling {
  readonly docs?: string;
  /**
   * JSON Schema (draft 2020-12) of what the caller sends, of a stream one item. Types that JSON does not have are described by
   * `x-quicrpc-type`: `date` (RFC 3339), `bigint` (an integer; a literal in text), `bytes` (base64), `map` (pairs), `set` (a list),
   * `blob` (bytes that travel beside the message).
   */
  readonly input?: Readonly<Record<string, unknown>>;
  /** The same of what the callee sends. */
  readonly output?: Readonly<Record<string, unknown>>;
  /** The same of the details of each declared error that has such. */
  readonly errors?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** A method of any types, as in a table of methods. Its `kind` tells the kinds apart. */
export type AnyMethod<Kind extends MethodKind = MethodKind> = {
  // oxlint-disable-next-line typescript/no-explicit-any -- unknown would not accept methods of any types
  [Each in Kind]: MethodDescriptor<Each, any, any, any, any>;
}[Kind];

/** Options of a method, beside its service, name and kind. */
export interface MethodOptions<Sent, Received, Returned, Result, Errors extends MethodErrors = NoErrors> {
  readonly id: number;
  readonly input?: MessageCodec<Sent, Received>;
  readonly output?: MessageCodec<Returned, Result>;
  /** Default: as `readOnly`. */
  readonly idempotent?: boolean;
  readonly readOnly?: boolean;
  /** `onceCalls`, of a unary method whose calls take effect once. */
  readonly once?: OnceCode;
  /** `blobCalls(…)`, of a unary method whose messages have blobs. */
  readonly blobs?: BlobCode;
  readonly priority?: number;
  /** 32 bits; see `MethodDescriptor`. */
  readonly fingerprint?: number;
  readonly delivery?: "datagram";
  readonly via?: Via;
  readonly cursor?: ItemCursor;
  readonly resumable?: boolean;
  readonly errors?: Errors;
  readonly meta?: MethodMeta;
}

/** Makes the descriptor of a method whose calls `calling` makes, for generated code: `defineMethod` checks what is written by hand. */
export function describeMethod<
  Kind extends MethodKind,
  Sent = void,
  Received = Sent,
  Returned = void,
  Result = Returned,
  const Errors extends MethodErrors = NoErrors,
>(
  service: ServiceIdentity,
  calling: CallingCode<Kind>,
  name: string,
  options: MethodOptions<Sent, Received, Returned, Result, Errors>,
): MethodDescriptor<Kind, Sent, Received, Returned, Result, Errors> {
  const {
    id,
    input,
    output,
    readOnly = false,
    idempotent = readOnly,
    once,
    blobs,
    errors = {} as Errors,
    priority,
    fingerprint,
    delivery,
    via,
    cursor,
    resumable,
    meta,
  } = options;
  const { kind } = calling;
  return {
    kind,
    calling: blobs?.calling ?? calling,
    name,
    id,
    input,
    output,
    idempotent,
    readOnly,
    once,
    blobs,
    errors: { ...calling.errors, ...errors },
    priority,
    fingerprint,
    delivery,
    via,
    cursor,
    resumable,
    meta,
    service,
  };
}

/** "service/method", as messages name it. */
export function fullName({ service, name }: AnyMethod): string {
  return `${service.name}/${name}`;
}
