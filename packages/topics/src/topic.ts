import { z } from "zod";
import { rpc, type RpcSchema, type StreamSchema } from "@quicrpc/core";
import { checkOptions, type MethodMeta, type Schema } from "@quicrpc/core/internal";
import { checkPattern, MAX_PARAMETER_LENGTH, patternPlacesOf } from "./topic-pattern.js";

/** The parameter names in a pattern, such as `"id"` for `"room.{id}"`. */
type ParameterNames<Pattern extends string> = Pattern extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParameterNames<Rest>
  : never;

type Parameters<Pattern extends string> = { readonly [Name in ParameterNames<Pattern>]: z.ZodString };

/** Documentation of an item's `message`, for a topic with history. */
const FIRST = "Undefined in the first item of a subscription without `from`, which says that it has begun.";

/** Options of `topic`. */
export interface TopicSchemaOptions {
  /**
   * Priority of the subscriptions, which then have streams of their own. Streams with a higher number are sent first.
   * Default: none.
   */
  readonly priority?: number;
  /**
   * If true, messages have positions and are stored for some time. A subscriber whose session is lost then continues
   * automatically after its last message, on any server. The server decides where and how long messages are stored.
   * Default false.
   */
  readonly history?: boolean;
  /** Metadata of the publish and the subscribe method, as in `rpc`. Default: none. */
  readonly meta?: MethodMeta;
}

/** Schema of a family of topics: the two methods that a service has for it. */
export interface TopicSchema<
  Pattern extends string = string,
  Message extends Schema = Schema,
  History extends boolean = boolean,
> {
  readonly type: "topic";
  readonly pattern: Pattern;
  readonly publish: RpcSchema<z.ZodObject<Parameters<Pattern> & { readonly message: Message }>, undefined>;
  readonly subscribe: RpcSchema<
    [ParameterNames<Pattern>] extends [never] ? undefined : z.ZodObject<Parameters<Pattern>>,
    StreamSchema<
      z.ZodObject<
        History extends true
          ? { readonly message: z.ZodOptional<Message>; readonly position: z.ZodString }
          : { readonly message: Message; readonly lost: z.ZodOptional<z.ZodInt> }
      >
    >
  >;
}

/**
 * Declares a family of topics. A message that is published to a topic reaches all its subscribers. As the member `room`
 * of a service, it becomes two methods, `publishRoom` and `subscribeRoom`. The server code for them is generated.
 *
 * @param pattern words separated by dots, where `{name}` is a parameter: `"room.{id}"`
 * @param message the schema of messages in both directions: the parsed value must be valid input too
 */
export function topic<
  const Pattern extends string,
  const Message extends Schema,
  const Options extends TopicSchemaOptions = Readonly<Record<never, never>>,
>(
  pattern: Pattern,
  message: Message,
  options?: Options,
): TopicSchema<Pattern, Message, Options extends { readonly history: true } ? true : false> {
  const schemaOptions: TopicSchemaOptions = options ?? {};
  checkOptions("topic()", schemaOptions, { history: true, meta: true, priority: true });
  const { priority, meta, history = false } = schemaOptions;
  checkPattern(pattern);
  const parameter = (): z.ZodString => z.string().min(1).max(MAX_PARAMETER_LENGTH);
  const parameters = Object.fromEntries(
    patternPlacesOf(pattern).flatMap(({ parameter: name }) => (name === undefined ? [] : [[name, parameter()]])),
  ) as Parameters<Pattern>;
  const lost = z.int().min(1).optional();
  const lostMeaning = "So many messages before this one were dropped, because this subscriber was too slow for them.";
  const position = z.string().describe("Where to go on after this item.");
  const item = history
    ? z.object({ message: z.optional(message).describe(FIRST), position })
    : z.object({ message, lost: lost.describe(lostMeaning) });
  const output = { kind: "stream", item } as const;
  const shared = meta === undefined ? {} : { meta };
  return {
    type: "topic",
    pattern,
    publish: rpc({ ...shared, input: z.object({ ...parameters, message }) }),
    subscribe: rpc({
      ...shared,
      ...(priority !== undefined && { priority }),
      ...(history && { cursor: "position" }),
      readOnly: true,
      ...(Object.keys(parameters).length > 0 && { input: z.object(parameters) }),
      output,
    }),
  } as unknown as ReturnType<typeof topic<Pattern, Message, Options>>;
}
