import { CURSOR_ERRORS, type CursorOption } from "./cursor.js";
import type { Via } from "./descriptor.js";
import { type DeclaredErrors, type ErrorSchemas, normalErrors } from "./error-schema.js";
import type { MethodMeta } from "./meta.js";
import type { Payload, Schema } from "./schema.js";

/** Options of `rpc`. A missing input or output costs no payload bytes on the wire. */
export interface RpcOptions<
  Input extends Payload | undefined,
  Output extends Payload | undefined,
  Errors extends ErrorSchemas = ErrorSchemas,
> {
  /** Schema of the call's input, or `stream(schema)` for items. Without, the method takes nothing. Default: none. */
  readonly input?: Input;
  /** Schema of the answer, or `stream(schema)` for items. Without, the answer is empty. Default: none. */
  readonly output?: Output;
  /** The call may be made again safely when it is not known whether it ran. Default: as `readOnly`. */
  readonly idempotent?: boolean;
  /**
   * The call changes nothing, and is idempotent therefore. Over HTTP it may be made by GET, so that caches may answer it, and links, pages
   * and crawlers make it unasked. Of methods that answer. Default false.
   */
  readonly readOnly?: boolean;
  /**
   * Whether each call takes effect once: it has a key, by which a call that is made again gets the first one's answer. Of methods whose input
   * and output are single messages. Default false.
   */
  readonly once?: boolean;
  /** Calls have a stream of their own that leaves before those with a lower number. Default: none. */
  readonly priority?: number;
  /** How calls travel that do not say so themselves. Default: as the session says. */
  readonly via?: Via;
  /**
   * Errors that the handler may throw by name: the schema of the details, or code and details. The default code is
   * `failed_precondition`. Default: none.
   */
  readonly errors?: Errors;
  /**
   * The field of each item of a server's stream that has its cursor, the position in the stream. A caller whose session
   * is lost then goes on after its last item by itself, on any server (docs/durable.md). `{ field, predecessor }` also
   * makes a gap an error. Default: items have none.
   */
  readonly cursor?: CursorOption;
  /**
   * Whether calls that stream outlive the session that carries them. Both sides wait until the client is back at the
   * same server process, and the call goes on where it was. Handlers and callers need no code for it (docs/durable.md).
   * Default false.
   */
  readonly resumable?: boolean;
  /** Metadata for interceptors on both sides, reflection and documents: plain JSON. Default: none. */
  readonly meta?: MethodMeta;
}

/** A method that answers. */
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
  /** Schema of the message. Without, the method takes nothing. Default: none. */
  readonly input?: Input;
  /** Sent as one datagram: it may be lost, and does not wait for what was lost before it. Default: as a call, in order. */
  readonly delivery?: "datagram";
  /** As of `rpc`; of datagrams, how those travel that cannot be sent as one. Default: none. */
  readonly priority?: number;
  /** How notifications travel that do not say so themselves, as of `rpc`. Default: as the session says. */
  readonly via?: Via;
  /** As of `rpc`. Default: none. */
  readonly meta?: MethodMeta;
}

/** A method without an answer. */
export interface NotifySchema<Input extends Schema | undefined = Schema | undefined> {
  readonly type: "notify";
  readonly input: Input;
  readonly delivery?: "datagram";
  readonly priority?: number;
  readonly via?: Via;
  readonly meta?: MethodMeta;
}

export type MethodSchema = RpcSchema | NotifySchema;

/** The two methods of a family of topics, as `topic` of `@quicrpc/core/topics` makes them. */
interface TopicMethods {
  readonly type: "topic";
  readonly pattern: string;
  readonly publish: RpcSchema;
  readonly subscribe: RpcSchema;
}

/** A method's schema names its topic by this key, across copies of this module. */
const TOPIC: unique symbol = Symbol.for("quicrpc.topic") as typeof TOPIC;

/** The topic that a method publishes or subscribes to. */
export interface TopicOfMethod {
  /** Its name in the service. */
  readonly name: string;
  readonly pattern: string;
}

/** Returns the topic whose method has this schema; undefined where it is no topic's. */
export function topicOfMethod(schema: object): TopicOfMethod | undefined {
  return (schema as { readonly [TOPIC]?: TopicOfMethod })[TOPIC];
}

/** The members that a service is declared with: methods, and topics, which become two methods each. */
export type Members = Record<string, MethodSchema | TopicMethods>;

/** The methods of a service that is declared with `Declared`. */
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

/** Marks service schemas across copies of this module (a schema loader may have its own). */
const SERVICE_SCHEMA: unique symbol = Symbol.for("quicrpc.service") as typeof SERVICE_SCHEMA;

/** A named set of methods, as written by hand and read by `quicrpc gen`. */
export interface ServiceSchema<Name extends string = string, Declared extends Members = Record<string, MethodSchema>> {
  readonly [SERVICE_SCHEMA]: true;
  readonly name: Name;
  readonly methods: MethodsOf<Declared>;
}

/**
 * Declares a method that answers: unary, or streaming where its input or output is a `stream` or `bytes`. Options it does
 * not know are kept, for the generator to complain of.
 */
export function rpc<
  const Input extends Payload | undefined = undefined,
  const Output extends Payload | undefined = undefined,
  const Errors extends ErrorSchemas = Readonly<Record<never, never>>,
>(options: RpcOptions<Input, Output, Errors> = {}): RpcSchema<NoInfer<Input>, NoInfer<Output>, NoInfer<Errors>> {
  // NoInfer: a left out input is undefined, not whatever the surrounding `service` would accept.
  const { input, output, readOnly, idempotent = readOnly === true } = options;
  const declared = options.cursor === undefined ? options.errors : { ...CURSOR_ERRORS, ...options.errors };
  const errors = normalErrors((declared ?? {}) as Errors);
  return { ...options, type: "rpc", input: input as Input, output: output as Output, idempotent, errors };
}

/** Declares a method without an answer. */
export function notify<const Input extends Schema | undefined = undefined>(
  options: NotifyOptions<Input> = {},
): NotifySchema<NoInfer<Input>> {
  return { ...options, type: "notify", input: options.input as Input };
}

/**
 * Declares a service.
 *
 * @param name dotted and versioned by convention: `"shop.v1.Orders"`. It names the service to the peer.
 *
 * @example
 * export const Greeter = service("hello.v1.Greeter", {
 *   greet: rpc({ input: z.object({ name: z.string() }), output: z.object({ text: z.string() }) }),
 *   countdown: rpc({ input: z.object({ from: z.int() }), output: stream(z.object({ left: z.int() })) }),
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
      throw new TypeError(`${name}: the topic ${member} has a method ${names[side]}, and so has the service`);
    }
    const own = { [TOPIC]: { name: member, pattern: schema.pattern } };
    return [
      [names.publish, { ...schema.publish, ...own }],
      [names.subscribe, { ...schema.subscribe, ...own }],
    ];
  });
  return { [SERVICE_SCHEMA]: true, name, methods: Object.fromEntries(methods) as unknown as MethodsOf<Declared> };
}

/** The names of the methods of a topic: `publishRoom` and `subscribeRoom` of `room`. */
export function topicMethodNames(topic: string): { readonly publish: string; readonly subscribe: string } {
  const capital = topic.charAt(0).toUpperCase() + topic.slice(1);
  return { publish: `publish${capital}`, subscribe: `subscribe${capital}` };
}

/** Whether `value` was made by `service`, by this copy of the module or another. */
export function isServiceSchema(value: unknown): value is ServiceSchema {
  return typeof value === "object" && value !== null && SERVICE_SCHEMA in value;
}
