import { CURSOR_ERRORS, type CursorOption } from "./cursor.js";
import type { Via } from "./descriptor.js";
import type { MethodMeta } from "./meta.js";
import type { Code } from "../errors.js";
import type { z } from "zod";

/** Any schema of zod 4, or of zod/mini. */
export type Schema = z.core.$ZodType & {
  safeParse(value: unknown): z.core.util.SafeParseResult<unknown>;
};

/** A sequence of messages of one schema: an input or output that is streamed. */
export interface StreamSchema<Item extends Schema = Schema> {
  readonly kind: "stream";
  readonly item: Item;
}

/** A stream of raw bytes, passed through without messages or validation. */
export interface BytesSchema {
  readonly kind: "bytes";
}

/** A schema for the input or output of a method. */
export type Payload = Schema | StreamSchema | BytesSchema;

/** Declares that an input or output is a stream of messages, each with the schema `item`. */
export function stream<Item extends Schema>(item: Item): StreamSchema<Item> {
  return { kind: "stream", item };
}

/**
 * Declares that an input or output is raw bytes: a stream of `Uint8Array` chunks. Chunk boundaries may change on the
 * way, as in any byte stream. If both sides send bytes, each side can end before the other.
 */
export function bytes(): BytesSchema {
  return { kind: "bytes" };
}

export function isStreamSchema(payload: Payload | undefined): payload is StreamSchema {
  return payload !== undefined && "kind" in payload && payload.kind === "stream" && "item" in payload;
}

export function isBytesSchema(payload: Payload | undefined): payload is BytesSchema {
  return payload !== undefined && "kind" in payload && payload.kind === "bytes";
}

/** An error as `rpc` accepts it: the schema of its details, or an object with code and details. */
type ErrorSchema = Schema | { readonly code?: Code; readonly details?: Schema };

/** Errors by name, as `rpc` accepts them. */
type ErrorSchemas = Readonly<Record<string, ErrorSchema>>;

/** The code of a declared error without an explicit code. */
const DEFAULT_CODE = "failed_precondition";

/** An error of a service schema. */
export interface DeclaredError<ItsCode extends Code = Code, Details extends Schema | undefined = Schema | undefined> {
  readonly code: ItsCode;
  readonly details: Details;
}

/** Declared errors by name, normalized. */
type DeclaredErrors<Errors extends ErrorSchemas> = {
  readonly [Name in keyof Errors]: Errors[Name] extends Schema
    ? DeclaredError<typeof DEFAULT_CODE, Errors[Name]>
    : DeclaredError<
        Errors[Name] extends { readonly code: infer Given extends Code } ? Given : typeof DEFAULT_CODE,
        Errors[Name] extends { readonly details: infer Details extends Schema } ? Details : undefined
      >;
};

/** Normalizes the declared errors. Invalid entries and unknown properties are kept, so that the generator can report them. */
function normalErrors<Errors extends ErrorSchemas>(errors: Errors): DeclaredErrors<Errors> {
  const declared = Object.entries(errors).map(([name, error]): [string, DeclaredError] => {
    if (!isPlain(error)) return [name, { code: DEFAULT_CODE, details: error }];
    return [name, { ...error, code: error.code ?? DEFAULT_CODE, details: error.details }];
  });
  return Object.fromEntries(declared) as unknown as DeclaredErrors<Errors>;
}

/** Returns true if an error is an object with code and details, and false if it is the schema of the details. */
function isPlain(error: ErrorSchema): error is Exclude<ErrorSchema, Schema> {
  return typeof error === "object" && error !== null && Object.getPrototypeOf(error) === Object.prototype;
}

/** Options of `rpc`. An omitted input or output takes no payload bytes on the wire. */
export interface RpcOptions<
  Input extends Payload | undefined,
  Output extends Payload | undefined,
  Errors extends ErrorSchemas = ErrorSchemas,
> {
  /** Schema of the call's input, or `stream(schema)` for a stream of items. Default: the method has no input. */
  readonly input?: Input;
  /** Schema of the response, or `stream(schema)` for a stream of items. Default: the response is empty. */
  readonly output?: Output;
  /** Whether the call may safely be repeated if it is unknown whether it ran. Default: as `readOnly`. */
  readonly idempotent?: boolean;
  /**
   * Whether the call changes nothing; it is then idempotent as well. Over HTTP it may be made by GET, so caches may
   * answer it, and links, other pages and crawlers can trigger it. Default false.
   */
  readonly readOnly?: boolean;
  /**
   * Whether each call takes effect once: it has a key, and a repeated call with this key receives the first one's
   * response. Only for methods whose input and output are single messages; generated code imports `@quicrpc/durable`.
   * Default false.
   */
  readonly once?: boolean;
  /** Priority: calls have their own streams, which are sent before streams of a lower number. Default: none. */
  readonly priority?: number;
  /** How calls travel, unless the call's options say otherwise. Default: the session's setting. */
  readonly via?: Via;
  /**
   * Errors that the handler may throw, by name: the schema of the details, or an object with code and details. The
   * default code is `failed_precondition`. Default: none.
   */
  readonly errors?: Errors;
  /**
   * The field of each streamed item that contains its cursor, the position in the stream. A caller whose session is
   * lost then continues after its last item automatically, on any server (docs/durable.md). `{ field, predecessor }`
   * also detects missing items. Default: items have no cursors.
   */
  readonly cursor?: CursorOption;
  /**
   * Whether streaming calls outlive the session that carries them. Both sides wait until the client has reconnected to
   * the same server process, and the call continues. Handlers and callers need no code for it (docs/durable.md);
   * generated code imports `@quicrpc/durable`. Default false.
   */
  readonly resumable?: boolean;
  /** Metadata for interceptors on both sides, reflection and documentation: plain JSON. Default: none. */
  readonly meta?: MethodMeta;
}

/** A method with a response. */
export interface RpcSchema<
  Input extends Payload | undefined = Payload | undefined,
  Output extends Payload | undefined = Payload | undefined,
  Errors extends ErrorSchemas = ErrorSchemas,
> {
  readonly type: "rpc";
  readonly input: Input;
  readonly output: Output;
  readonly idempotent: boolean;
  readonly readOnly?: boolean;
  readonly once?: boolean;
  readonly priority?: number;
  readonly via?: Via;
  readonly errors: DeclaredErrors<Errors>;
  readonly cursor?: CursorOption;
  readonly resumable?: boolean;
  readonly meta?: MethodMeta;
}

/** Options of `notify`. */
export interface NotifyOptions<Input extends Schema | undefined> {
  /** Schema of the message. Default: the method has no input. */
  readonly input?: Input;
  /**
   * "datagram": the notification is sent as one datagram, which may be lost but does not wait for earlier data.
   * Default: sent as a call, reliably and in order.
   */
  readonly delivery?: "datagram";
  /** Priority, as in `rpc`. For datagrams, it applies to those that are too large for one datagram. Default: none. */
  readonly priority?: number;
  /** How notifications travel, as in `rpc`. Default: the session's setting. */
  readonly via?: Via;
  /** Metadata, as in `rpc`. Default: none. */
  readonly meta?: MethodMeta;
}

/** A method without a response. */
export interface NotifySchema<Input extends Schema | undefined = Schema | undefined> {
  readonly type: "notify";
  readonly input: Input;
  readonly delivery?: "datagram";
  readonly priority?: number;
  readonly via?: Via;
  readonly meta?: MethodMeta;
}

export type MethodSchema = RpcSchema | NotifySchema;

/** The two methods of a family of topics, made by `topic` of `@quicrpc/topics`. */
interface TopicMethods {
  readonly type: "topic";
  readonly pattern: string;
  readonly publish: RpcSchema;
  readonly subscribe: RpcSchema;
}

/** A method's schema stores its topic under this key. It is a registered symbol, so that all copies of this module share it. */
const TOPIC: unique symbol = Symbol.for("quicrpc.topic") as typeof TOPIC;

/** The topic that a method publishes or subscribes to. */
export interface TopicOfMethod {
  /** The topic's name in the service. */
  readonly name: string;
  readonly pattern: string;
}

/** Returns the topic to which a method's schema belongs, or undefined if it belongs to none. */
export function topicOfMethod(schema: object): TopicOfMethod | undefined {
  return (schema as { readonly [TOPIC]?: TopicOfMethod })[TOPIC];
}

/** The members of a service declaration: methods, and topics, which become two methods each. */
export type Members = Record<string, MethodSchema | TopicMethods>;

/** The methods of a service with the members `Declared`. */
type MethodsOf<Declared extends Members> = {
  readonly [Name in keyof Declared as Declared[Name] extends TopicMethods
    ? never
    : Name]: Declared[Name] extends MethodSchema ? Declared[Name] : never;
} & {
  readonly [Name in keyof Declared & string as Declared[Name] extends TopicMethods
    ? `publish${Capitalize<Name>}`
    : never]: Declared[Name] extends TopicMethods ? Declared[Name]["publish"] : never;
} & {
  readonly [Name in keyof Declared & string as Declared[Name] extends TopicMethods
    ? `subscribe${Capitalize<Name>}`
    : never]: Declared[Name] extends TopicMethods ? Declared[Name]["subscribe"] : never;
};

/** Marks service schemas; a registered symbol, so that all copies of this module share it (a schema loader may have its own). */
const SERVICE_SCHEMA: unique symbol = Symbol.for("quicrpc.service") as typeof SERVICE_SCHEMA;

/** A named set of methods, written by hand and read by `quicrpc gen`. */
export interface ServiceSchema<Name extends string = string, Declared extends Members = Record<string, MethodSchema>> {
  readonly [SERVICE_SCHEMA]: true;
  readonly name: Name;
  readonly methods: MethodsOf<Declared>;
}

/**
 * Declares a method with a response. It is unary, or streaming if its input or output is a `stream` or `bytes`. Unknown
 * options are kept, so that the generator can report them.
 */
export function rpc<
  const Input extends Payload | undefined = undefined,
  const Output extends Payload | undefined = undefined,
  const Errors extends ErrorSchemas = Readonly<Record<never, never>>,
>(options: RpcOptions<Input, Output, Errors> = {}): RpcSchema<NoInfer<Input>, NoInfer<Output>, NoInfer<Errors>> {
  // Without NoInfer, an omitted input would be inferred as any input that the surrounding `service` accepts, not as
  // undefined.
  const { input, output, readOnly, idempotent = readOnly === true } = options;
  const declared = options.cursor === undefined ? options.errors : { ...CURSOR_ERRORS, ...options.errors };
  const errors = normalErrors((declared ?? {}) as Errors);
  return { ...options, type: "rpc", input: input as Input, output: output as Output, idempotent, errors };
}

/** Declares a method without a response. */
export function notify<const Input extends Schema | undefined = undefined>(
  options: NotifyOptions<Input> = {},
): NotifySchema<NoInfer<Input>> {
  return { ...options, type: "notify", input: options.input as Input };
}

/**
 * Declares a service.
 *
 * @param name dotted and versioned by convention, such as `"shop.v1.Orders"`; it identifies the service to the peer
 *
 * @example
 * export const Greeter = service("hello.v1.Greeter", {
 * greet: rpc({ input: z.object({ name: z.string() }), output: z.object({ text: z.string() }) }),
 * countdown: rpc({ input: z.object({ from: z.int() }), output: stream(z.object({ left: z.int() })) }),
 * });
 */
export function service<const Name extends string, const Declared extends Members>(
  name: Name,
  members: Declared,
): ServiceSchema<Name, Declared> {
  const methods = Object.entries(members ?? {}).flatMap(([member, schema]): [string, MethodSchema][] => {
    if (schema?.type !== "topic") return [[member, schema]];
    const names = topicMethodNames(member);
    for (const side of ["publish", "subscribe"] as const) {
      if (!Object.hasOwn(members, names[side])) continue;
      throw new TypeError(`${name}: the topic ${member} adds the method ${names[side]}, which the service already has`);
    }
    const topicMark = { [TOPIC]: { name: member, pattern: schema.pattern } };
    return [
      [names.publish, { ...schema.publish, ...topicMark }],
      [names.subscribe, { ...schema.subscribe, ...topicMark }],
    ];
  });
  return { [SERVICE_SCHEMA]: true, name, methods: Object.fromEntries(methods) as unknown as MethodsOf<Declared> };
}

/** Returns the names of a topic's methods, such as `publishRoom` and `subscribeRoom` for `room`. */
export function topicMethodNames(topic: string): { readonly publish: string; readonly subscribe: string } {
  const capital = topic.charAt(0).toUpperCase() + topic.slice(1);
  return { publish: `publish${capital}`, subscribe: `subscribe${capital}` };
}

/** Returns true if `value` was made by `service`, of this copy of the module or another. */
export function isServiceSchema(value: unknown): value is ServiceSchema {
  return typeof value === "object" && value !== null && SERVICE_SCHEMA in value;
}
