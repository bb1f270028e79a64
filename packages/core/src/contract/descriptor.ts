import type { BlobCode } from "./blob-code.js";
import type { ItemCursor } from "./cursor.js";
import type { MethodMeta } from "./meta.js";
import type { MessageCodec } from "./codec.js";
import type { MethodErrors, NoErrors } from "./method-errors.js";
import type { Metadata } from "../metadata.js";

/**
 * Code outside of core that changes how the calls of a method are made and served; the method's descriptor refers to it.
 * This is the side of the caller. The serving side is `BoundMethod.extension`, which a function for routers adds, so
 * that pages do not load it. See docs/extensions.md.
 */
export interface CallExtension {
  /** Name in reflection and in errors, such as "once". */
  readonly name: string;
  /** The kinds of methods that can have it. */
  readonly kinds: readonly MethodKind[];
  /** The function that adds the serving side to a router, with its package, for the error if it was not called. */
  readonly servedBy: string;
  /** Returns the code that makes the method's calls, from the code for methods of its kind. */
  calling(calling: CallingCode): CallingCode;
  /**
   * Called with a call's metadata before `retry` repeats it, if the call may have reached a handler. Without this
   * function, such calls are repeated only if the method is idempotent.
   */
  readonly onRepeat?: ((metadata: Metadata) => void) | undefined;
}

export type { MessageCodec, PayloadWriter, PlainCodec } from "./codec.js";

/**
 * How a call travels: on a lane, shared with other calls, or on its own stream. "auto" gives streams of messages
 * their own stream. Methods whose last call was large share a second lane on a short path, or have their own streams.
 * Other calls share one lane.
 */
export type Via = "auto" | "lane" | "stream";

/** The kinds of methods. They differ in the sides that stream. */
export type MethodKind = "unary" | "notify" | "server_stream" | "client_stream" | "duplex";

/**
 * The code that makes calls of one kind; opaque to the contract layer. Each descriptor refers to it, so that a bundle
 * only contains the kinds that its services use.
 */
export interface CallingCode<Kind extends MethodKind = MethodKind> {
  readonly kind: Kind;
  /** Errors that this kind of call always declares. */
  readonly errors?: MethodErrors;
  /**
   * Makes a call from as many attempts as necessary, each begun by `caller`, the outermost caller that the program
   * uses. Undefined if a call is a single attempt.
   */
  readonly around?: ((caller: unknown, method: AnyMethod, input: unknown, options: unknown) => unknown) | undefined;
}

/**
 * One method, as the runtime needs it. The type parameters are the types that the caller sends and the handler
 * receives, that the handler returns and the caller receives, and the declared errors.
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
  /** 1 to 2^14-1, unique within the service. */
  readonly id: number;
  /** Codec of the input, or of each item; undefined if the method has no input. */
  readonly input: MessageCodec<Sent, Received> | undefined;
  /** Codec of the result, or of each item; undefined if the method returns nothing. */
  readonly output: MessageCodec<Returned, Result> | undefined;
  readonly idempotent: boolean;
  /** Whether calls leave the server's state unchanged. */
  readonly readOnly: boolean;
  /** Code of another package that changes how calls are made and served. */
  readonly extension?: CallExtension | undefined;
  /** Set if fields of the messages are blobs. Unary methods only. */
  readonly blobs?: BlobCode | undefined;
  /** Priority of the stream of a call, in both directions. Calls of a method with a priority have their own streams. See `CallOptions`. */
  readonly priority?: number | undefined;
  /**
   * A 32-bit hash of the method's schema. Versions of a method with different wire formats have different fingerprints.
   * Undefined if the method was defined without one.
   */
  readonly fingerprint?: number | undefined;
  /** "datagram": a notification is sent as one datagram, which may be lost but is never late. */
  readonly delivery?: "datagram" | undefined;
  /** How calls travel unless the caller says otherwise; undefined: the session's default. */
  readonly via?: Via | undefined;
  /** The cursor fields of the items; undefined if items have no cursors. */
  readonly cursor?: ItemCursor | undefined;
  /** Declared errors by name; see `rpcError`. */
  readonly errors: Errors;
  /** Metadata from the schema, for the application. It is not sent. */
  readonly meta?: MethodMeta | undefined;
  readonly service: ServiceIdentity;
  /** @internal Returns a failed call if there are unknown call options. Undefined in production builds for browsers. */
  readonly refuseOptions?: ((method: AnyMethod, input: unknown, options: object | undefined) => unknown) | undefined;
}

/** Name and id of a service. */
export interface ServiceIdentity {
  readonly name: string;
  /** 16 bits. */
  readonly id: number;
  /** Loads details of the service for tools. Calls do not need them. */
  readonly tooling?: (() => Promise<ServiceTooling>) | undefined;
}

/** Details of a service for tools: reflection, documentation, manual calls. Plain JSON. */
export interface ServiceTooling {
  readonly docs?: string;
  readonly methods: Readonly<Record<string, MethodTooling>>;
  /** The shapes of the service's messages, for `quicrpc breaking`. */
  readonly snapshot: unknown;
}

/** Details of a method for tools. */
export interface MethodTooling {
  readonly docs?: string;
  /**
   * JSON Schema (draft 2020-12) of the caller's message, or of one item if the caller streams. Types that JSON lacks
   * are described by `x-quicrpc-type`: `date` (RFC 3339), `bigint` (an integer, or its digits in a string), `bytes`
   * (base64), `map` (an array of pairs), `set` (an array), `blob` (bytes next to the message).
   */
  readonly input?: Readonly<Record<string, unknown>>;
  /** JSON Schema of the callee's message, in the same form. */
  readonly output?: Readonly<Record<string, unknown>>;
  /** JSON Schemas of the details of declared errors, by the error's name. */
  readonly errors?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** A method of any types, such as an entry in a table of methods. Its `kind` discriminates the union. */
export type AnyMethod<Kind extends MethodKind = MethodKind> = {
  // oxlint-disable-next-line typescript/no-explicit-any -- unknown would not accept methods of any types
  [Each in Kind]: MethodDescriptor<Each, any, any, any, any>;
}[Kind];

/** Options of a method, in addition to its service, name and kind. */
export interface MethodOptions<Sent, Received, Returned, Result, Errors extends MethodErrors = NoErrors> {
  readonly id: number;
  readonly input?: MessageCodec<Sent, Received>;
  readonly output?: MessageCodec<Returned, Result>;
  /** Default: as `readOnly`. */
  readonly idempotent?: boolean;
  readonly readOnly?: boolean;
  /** Code of another package that changes how calls are made and served, such as `onceCalls` of `@quicrpc/durable`. */
  readonly extension?: CallExtension;
  /** `blobCalls(…)`, for a unary method whose messages have blobs. */
  readonly blobs?: BlobCode;
  readonly priority?: number;
  /** 32-bit hash of the schema; see `MethodDescriptor`. */
  readonly fingerprint?: number;
  readonly delivery?: "datagram";
  readonly via?: Via;
  readonly cursor?: ItemCursor;
  readonly errors?: Errors;
  readonly meta?: MethodMeta;
}

/**
 * Returns the descriptor of a method whose calls are made by `calling`. For generated code; methods written by hand use
 * `defineMethod`, which checks its arguments.
 */
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
    extension,
    blobs,
    errors = {} as Errors,
    priority,
    fingerprint,
    delivery,
    via,
    cursor,
    meta,
  } = options;
  const { kind } = calling;
  return {
    kind,
    calling: extension?.calling(calling) ?? blobs?.calling ?? calling,
    name,
    id,
    input,
    output,
    idempotent,
    readOnly,
    extension,
    blobs,
    errors: { ...calling.errors, ...errors },
    priority,
    fingerprint,
    delivery,
    via,
    cursor,
    meta,
    service,
  };
}

/** Returns "service/method", as error messages show it. */
export function fullName({ service, name }: AnyMethod): string {
  return `${service.name}/${name}`;
}

/** The type of `z.any()`. Generated code uses this name, so that linters find no `any` in it. */
// oxlint-disable-next-line typescript/no-explicit-any -- it is what the schema says
export type Any = any;
