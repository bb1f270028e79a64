import { type CallContext, type Router, RpcError } from "@quicrpc/core";
import { type AnyMethod, createRouter, type Handlers, type MessageCodec } from "@quicrpc/core/generated";
import {
  topicMethodNames,
  type Awaitable,
  type BoundMethod,
  checkOptions,
  type OptionNames,
} from "@quicrpc/core/internal";
import { topicName } from "./topic-pattern.js";
import type { TopicLog } from "./bus.js";
import { encodedOnce } from "./delivery.js";
import { beginning, pastThenLive, logged } from "./history.js";
import type { Subscription } from "./subscription.js";
import { hubOf, type TopicHub, type Topics } from "./topics.js";

/** Kind of access to a topic that a call requires. */
export type TopicAccess = "publish" | "subscribe";

/** Options with which a server serves one family of topics. */
export interface TopicOptions<Parameters, Context = unknown> {
  /**
   * Decides who may publish and subscribe to a topic. If it returns false, the call fails with `permission_denied`. If
   * it throws an `RpcError`, the call fails with that error. "everybody" permits everyone who has a session.
   */
  readonly authorize:
    | "everybody"
    | ((access: TopicAccess, parameters: Parameters, context: CallContext<Context>) => Awaitable<boolean>);
  /**
   * What happens if a subscriber reads messages more slowly than they arrive. "drop" removes the oldest waiting
   * messages; the next message contains their number in `lost`. "end" ends the subscription with `resource_exhausted`.
   * Default "drop".
   */
  readonly slow?: "drop" | "end" | undefined;
}

/** Options of `Topic.publish`. */
export interface TopicPublishOptions {
  /**
   * Identifies a message in a topic with history, so that a call that publishes can be repeated: if the log already
   * contains a message with this id, from any server, nothing is published. Logs in memory and in files know the ids of
   * the messages that they store. JetStream knows the ids within its stream's `duplicate_window` (2 minutes by
   * default). Default: none.
   */
  readonly id?: string | undefined;
}

/** One family of topics, for use in the server's own code. */
export interface Topic<Message, Parameters, Item> {
  /**
   * Publishes a message to a topic. Resolves when the message is in the queues of all subscribers of this process or,
   * with a bus, when the bus has accepted it.
   */
  publish(message: Message, options?: TopicPublishOptions): Promise<void>;
  /**
   * Subscribes this process to a topic. All messages that are published after the promise has resolved will arrive. If
   * they arrive faster than they are read, the option `slow` applies. All subscribers receive the same object: do not
   * change it.
   *
   * @param from for a topic with history: also delivers the stored messages after this position, before live messages
   */
  subscribe(parameters: Parameters, from?: string): Promise<AsyncIterableIterator<Item>>;
}

/** Key under which the handlers of a service's topics are stored, by method name. */
const HANDLERS: unique symbol = Symbol("handlers");

/** The topics of one service on a server. Generated code adds each topic under its name. */
export interface ServedTopics<Context = unknown> {
  readonly [HANDLERS]: ReadonlyMap<string, BoundMethod<Context>>;
}

type AnyTopic = Topic<object, object, unknown>;
type AnyTopicOptions = TopicOptions<Readonly<Record<string, unknown>>>;

const TOPIC: OptionNames<AnyTopicOptions> = { authorize: true, slow: true };

/** Creates the topics of a service. Called by generated code. The keys of `patterns` and `options` are topic names. */
export function serveTopics<Served extends ServedTopics<never>>(
  methods: Readonly<Record<string, AnyMethod>>,
  patterns: Readonly<Record<string, string>>,
  topics: Topics,
  options: object,
): Served {
  const hub = hubOf(topics);
  checkOptions("serveTopics()", options, Object.fromEntries(Object.keys(patterns).map((name) => [name, TOPIC])));
  const handlers = new Map<string, BoundMethod>();
  const topicsByName: Record<string, AnyTopic> = {};
  for (const [name, pattern] of Object.entries(patterns)) {
    const topicOptions = (options as Readonly<Record<string, AnyTopicOptions | undefined>>)[name];
    const names = topicMethodNames(name);
    const publish = methods[names.publish];
    const subscribe = methods[names.subscribe];
    if (publish === undefined || subscribe === undefined)
      throw new TypeError(`there is no topic ${name} in this service`);
    if (topicOptions?.authorize !== "everybody" && typeof topicOptions?.authorize !== "function") {
      throw new TypeError(`the topic ${name} needs authorize: a function, or "everybody"`);
    }
    const family = new TopicFamily(hub, pattern, subscribe, topicOptions);
    topicsByName[name] = family;
    handlers.set(names.publish, { method: publish, handler: (input, context) => family.published(input, context) });
    const output = encodedOnce(family.codec);
    handlers.set(names.subscribe, {
      method: { ...subscribe, output } as AnyMethod,
      handler: (input, context) => family.subscribed(input, context),
    });
  }
  return Object.assign(topicsByName, { [HANDLERS]: handlers }) as unknown as Served;
}

/** Same as `createRouter`, for a service with topics. Called by generated code. */
export function createTopicRouter<Methods extends Record<string, AnyMethod>, Context = unknown>(
  methods: Methods,
  handlers: object,
  topics: ServedTopics<Context>,
): Router<Context> {
  const topicHandlers = topics[HANDLERS];
  const otherMethods = Object.fromEntries(Object.entries(methods).filter(([name]) => !topicHandlers.has(name)));
  const router = createRouter<Record<string, AnyMethod>, Context>(
    otherMethods,
    handlers as Handlers<Record<string, AnyMethod>, Context>,
  );
  return { methods: [...router.methods, ...topicHandlers.values()] };
}

class TopicFamily implements AnyTopic {
  readonly codec: MessageCodec<unknown>;
  private readonly hub: TopicHub;
  private readonly pattern: string;
  private readonly method: AnyMethod;
  private readonly options: AnyTopicOptions;
  /** Log that stores the messages. Undefined if the schema does not request history. */
  private readonly log: TopicLog | undefined;

  constructor(hub: TopicHub, pattern: string, method: AnyMethod, options: AnyTopicOptions) {
    if (method.cursor !== undefined && hub.log === undefined) {
      throw new TypeError(
        `${method.service.name}/${method.name} has history, which this bus does not support: see docs/topics.md`,
      );
    }
    this.log = method.cursor && hub.log;
    this.hub = hub;
    this.pattern = pattern;
    this.method = method;
    this.options = options;
    this.codec = method.output as MessageCodec<unknown>;
  }

  async publish(input: object, { id }: TopicPublishOptions = {}): Promise<void> {
    const { message } = input as { readonly message: unknown };
    const { log, codec, hub, method } = this;
    if (id !== undefined && log === undefined) {
      throw new TypeError(`${method.service.name}/${method.name} has no history, so messages cannot have ids`);
    }
    const turn = hub.pace.turn();
    if (turn !== undefined) await turn;
    // A log returns the position when it has stored the message.
    await hub.publish(this.nameOf(input), codec, log === undefined ? { message } : { message, position: "" }, log, id);
  }

  async subscribe(parameters: object = {}, from?: string): Promise<AsyncIterableIterator<unknown>> {
    const { log, codec, hub } = this;
    const name = this.nameOf(parameters);
    const subscription = hub.subscribe(name, codec, this.options.slow ?? "drop", log);
    const position = await untilLive(subscription);
    if (log === undefined || position === undefined) return subscription;
    return pastThenLive(
      from === undefined ? beginning(position) : logged(log, name, codec, from, hub.pace, subscription),
      subscription,
    );
  }

  async published(input: object, context: CallContext): Promise<void> {
    await this.authorize("publish", input, context);
    await this.publish(input);
  }

  async subscribed(parameters: object | undefined, context: CallContext): Promise<AsyncIterableIterator<unknown>> {
    await this.authorize("subscribe", parameters ?? {}, context);
    const subscription = await this.subscribe(parameters, context.resumeFrom);
    // Tells the caller that it is subscribed, before the first message arrives.
    context.responseMetadata.set(LIVE, "1");
    context.sendResponseMetadata();
    return subscription;
  }

  private async authorize(access: TopicAccess, input: object, context: CallContext): Promise<void> {
    const { authorize } = this.options;
    if (authorize === "everybody") return;
    const { message: _, ...parameters } = input as Readonly<Record<string, unknown>>;
    if (await authorize(access, parameters, context)) return;
    throw new RpcError("permission_denied", `this caller may not ${access} to this topic`);
  }

  private nameOf(input: object): string {
    return topicName(this.method.service.name, this.pattern, input as Readonly<Record<string, unknown>>);
  }
}

/** Key of response metadata that a subscription sends when all messages published from then on will arrive. */
const LIVE = "topic-live";

async function untilLive(subscription: Subscription): Promise<string | undefined> {
  try {
    return await subscription.ready;
  } catch (error) {
    await subscription.return();
    throw error;
  }
}
