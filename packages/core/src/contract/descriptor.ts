import type { BlobCode } from "./blob-code.js";
import type { ItemCursor } from "./cursor.js";
import type { MethodMeta } from "./meta.js";
import type { MessageCodec } from "./codec.js";
import type { MethodErrors, NoErrors } from "./method-errors.js";
import type { Metadata } from "../metadata.js";

/**
 * Code of another package that changes how the calls of a method are made and served, on the caller's side. A method
 * descriptor refers to it. The serving side is `BoundMethod.extension`; a function for routers adds it, so that web
 * pages do not load it. See docs/extensions.md.
 */
export interface CallExtension {
  /** Name of the extension in reflection and error messages, such as "once". */
  readonly name: string;
  /** The kinds of methods that the extension supports. */
  readonly kinds: readonly MethodKind[];
  /**
   * Name and package of the function that adds the serving side to a router. An error message shows it if that function
   * was not called.
   */
  readonly servedBy: string;
  /** Wraps `calling`, the code for calls of the method's kind. */
  calling(calling: CallingCode): CallingCode;
  /**
   * Called with the metadata of a call before `retry` repeats it, if the call may have reached a handler. If absent,
   * such calls are repeated only if the method is idempotent.
   */
  readonly onRepeat?: ((metadata: Metadata) => void) | undefined;
}

export type { MessageCodec, PayloadWriter, PlainCodec } from "./codec.js";

/**
 * Where a call is sent. "lane": on a stream that many calls share. "stream": on its own stream. "auto": calls that
 * stream messages have their own streams. Methods whose last call was large use a second lane if the round-trip time is
 * short, or their own streams. All other calls share one lane.
 */
export type Via = "auto" | "lane" | "stream";

/** The kinds of methods. They differ in which side streams messages, and whether there is a response. */
export type MethodKind = "unary" | "notify" | "server_stream" | "client_stream" | "duplex";

/**
 * The code that makes calls of one kind of method. Each descriptor refers to it, so that a bundle contains only the
 * kinds that its services use.
 */
export interface CallingCode<Kind extends MethodKind = MethodKind> {
  readonly kind: Kind;
  readonly errors?: MethodErrors;
  /**
   * Makes a call that may take several attempts. `caller` is the outermost caller of the application, which starts each
   * attempt. Undefined if a call is a single attempt.
   */
  readonly around?: ((caller: unknown, method: AnyMethod, input: unknown, options: unknown) => unknown) | undefined;
}

/**
 * Describes a method for the runtime. The type parameters are the types that the caller sends (`Sent`), the handler
 * receives (`Received`), the handler returns (`Returned`) and the caller receives (`Result`), and the declared errors.
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
  /** Id of the method on the wire: 1 to 2^14-1, unique within the service. */
  readonly id: number;
  /** Codec of the input, or of each item if the caller streams; undefined if the method has no input. */
  readonly input: MessageCodec<Sent, Received> | undefined;
  /** Codec of the response, or of each item if the callee streams; undefined if the method returns nothing. */
  readonly output: MessageCodec<Returned, Result> | undefined;
  readonly idempotent: boolean;
  /** Whether calls do not change the server's state. */
  readonly readOnly: boolean;
  /** Extension of another package that changes how calls are made and served. */
  readonly extension?: CallExtension | undefined;
  /** Code for blobs; set if fields of the messages are blobs. Unary methods only. */
  readonly blobs?: BlobCode | undefined;
  /**
   * Priority of a call's stream, in both directions: streams with a higher number are sent first. Calls of a method
   * with a priority have their own streams.
   */
  readonly priority?: number | undefined;
  /**
   * A 32-bit hash of the method's schema. It differs between versions of the method with different wire formats.
   * Undefined if the method was defined without one.
   */
  readonly fingerprint?: number | undefined;
  /** "datagram": each notification is sent as a datagram, which may be lost but does not wait for earlier data. */
  readonly delivery?: "datagram" | undefined;
  /**
   * Whether calls are sent on a lane (a stream that many calls share) or on their own streams, unless the call options
   * set it; undefined: the session's default.
   */
  readonly via?: Via | undefined;
  /** The fields of the items that contain cursors; undefined if the items have no cursors. */
  readonly cursor?: ItemCursor | undefined;
  /** The errors that the method declares, by name; see `rpcError`. */
  readonly errors: Errors;
  /** Metadata from the schema, for the application's use. It is not sent. */
  readonly meta?: MethodMeta | undefined;
  readonly service: ServiceIdentity;
  /**
   * @internal Returns a failed call if `options` contains unknown call options. Undefined in production builds for
   * browsers.
   */
  readonly refuseOptions?: ((method: AnyMethod, input: unknown, options: object | undefined) => unknown) | undefined;
}

/** Name and id of a service. */
export interface ServiceIdentity {
  readonly name: string;
  /** Id of the service on the wire: 16 bits. */
  readonly id: number;
  /** Loads documentation and schemas of the service, for tools. Calls do not need them. */
  readonly tooling?: (() => Promise<ServiceTooling>) | undefined;
}

/** Documentation and schemas of a service, for tools such as reflection. Plain JSON. */
export interface ServiceTooling {
  readonly docs?: string;
  readonly methods: Readonly<Record<string, MethodTooling>>;
  /** Types of all messages of the service, which `quicrpc breaking` compares. */
  readonly snapshot: unknown;
}

/** Documentation and schemas of a method, for tools. */
export interface MethodTooling {
  readonly docs?: string;
  /**
   * JSON Schema (draft 2020-12) of the input, or of one item if the caller streams. For types that JSON lacks, the
   * schema has the key `x-quicrpc-type`: `date` (RFC 3339), `bigint` (an integer, or its digits in a string), `bytes`
   * (base64), `map` (an array of pairs), `set` (an array), `blob` (bytes next to the message).
   */
  readonly input?: Readonly<Record<string, unknown>>;
  /** JSON Schema of the output, in the same form as `input`. */
  readonly output?: Readonly<Record<string, unknown>>;
  /** JSON Schemas of the details of the declared errors, by the name of the error. */
  readonly errors?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** The descriptor of a method with arbitrary message types. `kind` discriminates the union. */
export type AnyMethod<Kind extends MethodKind = MethodKind> = {
  // oxlint-disable-next-line typescript/no-explicit-any -- unknown would not accept methods of any types
  [Each in Kind]: MethodDescriptor<Each, any, any, any, any>;
}[Kind];

/** Options of `defineMethod` and `describeMethod`. `MethodDescriptor` documents most of them. */
export interface MethodOptions<Sent, Received, Returned, Result, Errors extends MethodErrors = NoErrors> {
  readonly id: number;
  readonly input?: MessageCodec<Sent, Received>;
  readonly output?: MessageCodec<Returned, Result>;
  /** Whether a call may safely be repeated if it is unknown whether it ran. Default: the value of `readOnly`. */
  readonly idempotent?: boolean;
  readonly readOnly?: boolean;
  /**
   * Extension of another package that changes how calls are made and served, such as `onceCalls` of `@quicrpc/durable`.
   */
  readonly extension?: CallExtension;
  /** Code for blobs, from `blobCalls(…)`. Needed for a unary method whose messages contain blobs. */
  readonly blobs?: BlobCode;
  readonly priority?: number;
  /** A 32-bit hash of the method's schema; see `MethodDescriptor`. */
  readonly fingerprint?: number;
  readonly delivery?: "datagram";
  readonly via?: Via;
  readonly cursor?: ItemCursor;
  readonly errors?: Errors;
  readonly meta?: MethodMeta;
}

/**
 * Returns the descriptor of a method. For generated code; to define a method by hand, use `defineMethod`, which checks
 * its arguments.
 *
 * @param calling code for calls of the method's kind
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

export function fullName({ service, name }: AnyMethod): string {
  return `${service.name}/${name}`;
}

/** Returns why a method is more than a plain unary method, as a noun; undefined if it is one. */
export function unaryObstacle({ kind, blobs, extension }: AnyMethod): string | undefined {
  return kind === "unary" ? (extension?.name ?? (blobs && "a method with blobs")) : kind;
}

/** The type of `z.any()`. Generated code uses this alias, so that linters do not report `any` in it. */
// oxlint-disable-next-line typescript/no-explicit-any -- it is what the schema says
export type Any = any;
