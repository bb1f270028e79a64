import { CURSOR_ERRORS, type CursorOption } from "./cursor.js";
import type { Via } from "./descriptor.js";
import type { MethodMeta } from "./meta.js";
import type { Code } from "../errors.js";
import type { z } from "zod";

/** A schema of zod 4 or zod/mini. */
export type Schema = z.core.$ZodType & {
  safeParse(value: unknown): z.core.util.SafeParseResult<unknown>;
};

/** A streamed input or output: a sequence of messages with the schema `item`. */
export interface StreamSchema<Item extends Schema = Schema> {
  readonly kind: "stream";
  readonly item: Item;
}

/** An input or output that is a stream of raw bytes, without messages or validation. */
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
 * Declares that an input or output is a stream of raw bytes, in `Uint8Array` chunks. The receiver may get other chunks
 * than were sent, as with any byte stream. If both sides send bytes, each side can end its direction independently.
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

/** A declared error in the options of `rpc`: the schema of its details, or an object with code and details. */
type ErrorSchema = Schema | { readonly code?: Code; readonly details?: Schema };

type ErrorSchemas = Readonly<Record<string, ErrorSchema>>;

const DEFAULT_CODE = "failed_precondition";

/** A declared error in a service schema. */
export interface DeclaredError<ItsCode extends Code = Code, Details extends Schema | undefined = Schema | undefined> {
  readonly code: ItsCode;
  readonly details: Details;
}

/** Declared errors by name, after normalization by `normalErrors`. */
type DeclaredErrors<Errors extends ErrorSchemas> = {
  readonly [Name in keyof Errors]: Errors[Name] extends Schema
    ? DeclaredError<typeof DEFAULT_CODE, Errors[Name]>
    : DeclaredError<
        Errors[Name] extends { readonly code: infer Given extends Code } ? Given : typeof DEFAULT_CODE,
        Errors[Name] extends { readonly details: infer Details extends Schema } ? Details : undefined
      >;
};

/**
 * Converts declared errors to objects with code and details. Keeps invalid entries and unknown properties, so that the
 * code generator can report them.
 */
function normalErrors<Errors extends ErrorSchemas>(errors: Errors): DeclaredErrors<Errors> {
  const declared = Object.entries(errors).map(([name, error]): [string, DeclaredError] => {
    if (!isPlain(error)) return [name, { code: DEFAULT_CODE, details: error }];
    return [name, { ...error, code: error.code ?? DEFAULT_CODE, details: error.details }];
  });
  return Object.fromEntries(declared) as unknown as DeclaredErrors<Errors>;
}

function isPlain(error: ErrorSchema): error is Exclude<ErrorSchema, Schema> {
  return typeof error === "object" && error !== null && Object.getPrototypeOf(error) === Object.prototype;
}

export interface RpcOptions<
  Input extends Payload | undefined,
  Output extends Payload | undefined,
  Errors extends ErrorSchemas = ErrorSchemas,
> {
  /** Schema of the call's input, or `stream(schema)` for a stream of items. Default: the method has no input. */
  readonly input?: Input;
  /** Schema of the response, or `stream(schema)` for a stream of items. Default: the response is empty. */
  readonly output?: Output;
  /** Whether a call may safely be repeated if it is unknown whether it ran. Default: as `readOnly`. */
  readonly idempotent?: boolean;
  /**
   * Whether calls change nothing on the server; such calls are idempotent too. Over HTTP they may use GET, so caches
   * may store the response, and links, other pages and crawlers can trigger the call. Default false.
   */
  readonly readOnly?: boolean;
  /**
   * Whether each call takes effect at most once: each call has a key, and a repeated call with the same key receives
   * the response of the first one. Only for methods whose input and output are single messages. Generated code imports
   * `@quicrpc/durable`. Default false.
   */
  readonly once?: boolean;
  /**
   * Priority of calls. Calls with a priority have their own streams, and streams with a higher number are sent first.
   * Default: none.
   */
  readonly priority?: number;
  /**
   * Whether calls are sent on a lane (a stream that many calls share) or on their own streams, unless the call's
   * options set it. Default: the session's setting.
   */
  readonly via?: Via;
  /**
   * Errors that the handler may throw, by name. Each is the schema of the error's details, or an object with code and
   * details; the default code is `failed_precondition`. Default: none.
   */
  readonly errors?: Errors;
  /**
   * Name of the field of each streamed item that contains its cursor (position in the stream). If the session of a call
   * is lost, the call continues after the last received item automatically, on any server (docs/durable.md). `{ field,
   * predecessor }` also detects missing items. Default: items have no cursors.
   */
  readonly cursor?: CursorOption;
  /**
   * Whether streaming calls survive the loss of their session. Both sides wait until the client has reconnected to the
   * same server process, and the call continues (docs/durable.md). Handlers and callers need no code for it. Generated
   * code imports `@quicrpc/durable`. Default false.
   */
  readonly resumable?: boolean;
  /** Metadata for interceptors on both sides, reflection and documentation: plain JSON. Default: none. */
  readonly meta?: MethodMeta;
}

/** The schema of a method with a response, as `rpc` returns it. */
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

export interface NotifyOptions<Input extends Schema | undefined> {
  /** Schema of the message. Default: the method has no input. */
  readonly input?: Input;
  /**
   * "datagram": each notification is sent as a datagram, which may be lost but does not wait for earlier data. Default:
   * sent as a call, reliably and in order.
   */
  readonly delivery?: "datagram";
  /**
   * Priority, as in `rpc`. With `delivery: "datagram"`, it applies only to messages that are too large for a datagram.
   * Default: none.
   */
  readonly priority?: number;
  /**
   * Whether notifications are sent on a lane (a stream that many calls share) or on their own streams. Default: the
   * session's setting.
   */
  readonly via?: Via;
  /** Metadata, as in `rpc`. Default: none. */
  readonly meta?: MethodMeta;
}

/** The schema of a method without a response, as `notify` returns it. */
export interface NotifySchema<Input extends Schema | undefined = Schema | undefined> {
  readonly type: "notify";
  readonly input: Input;
  readonly delivery?: "datagram";
  readonly priority?: number;
  readonly via?: Via;
  readonly meta?: MethodMeta;
}

export type MethodSchema = RpcSchema | NotifySchema;

/** The two methods of a topic, which `topic` of `@quicrpc/topics` creates. */
interface TopicMethods {
  readonly type: "topic";
  readonly pattern: string;
  readonly publish: RpcSchema;
  readonly subscribe: RpcSchema;
}

/**
 * Key under which a method's schema stores its topic. A registered symbol, so that all copies of this module share it.
 */
const TOPIC: unique symbol = Symbol.for("quicrpc.topic") as typeof TOPIC;

/** The topic that a method publishes or subscribes to. */
export interface TopicOfMethod {
  /** Name of the topic in the service declaration. */
  readonly name: string;
  readonly pattern: string;
}

/** Returns the topic of a method's schema, or undefined if the method was not created by `topic`. */
export function topicOfMethod(schema: object): TopicOfMethod | undefined {
  return (schema as { readonly [TOPIC]?: TopicOfMethod })[TOPIC];
}

/** The members of a service declaration: methods, and topics, each of which becomes two methods. */
export type Members = Record<string, MethodSchema | TopicMethods>;

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

/**
 * Key that marks service schemas. A registered symbol, so that all copies of this module share it, such as that of a
 * schema loader.
 */
const SERVICE_SCHEMA: unique symbol = Symbol.for("quicrpc.service") as typeof SERVICE_SCHEMA;

/** The schema of a service, as `service` returns it: a name and methods. `quicrpc gen` reads it. */
export interface ServiceSchema<Name extends string = string, Declared extends Members = Record<string, MethodSchema>> {
  readonly [SERVICE_SCHEMA]: true;
  readonly name: Name;
  readonly methods: MethodsOf<Declared>;
}

/**
 * Declares a method with a response. The method is unary, or streaming if its input or output is a `stream` or `bytes`.
 * Keeps unknown options, so that the code generator can report them.
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
 * Declares a service: a named set of methods and topics. Throws `TypeError` if a method has the name of a topic's
 * method.
 *
 * @param name dotted and versioned by convention, such as `"shop.v1.Orders"`; the name identifies the service to the
 * peer
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

/** Returns true if `value` was created by `service` of any copy of this module. */
export function isServiceSchema(value: unknown): value is ServiceSchema {
  return typeof value === "object" && value !== null && SERVICE_SCHEMA in value;
}
