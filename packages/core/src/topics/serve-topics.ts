import { checkOptions, type OptionNames } from "../check-options.js";
import type { AnyMethod } from "../contract/descriptor.js";
import type { MessageCodec } from "../contract/codec.js";
import { topicMethodNames } from "../contract/service.js";
import { topicName } from "../contract/topic-pattern.js";
import { RpcError } from "../errors.js";
import type { CallContext } from "../server/context.js";
import { type Awaitable, type BoundMethod, createRouter, type Handlers, type Router } from "../server/router.js";
import type { TopicLog } from "./bus.js";
import { encodedOnce } from "./delivery.js";
import { beginning, joined, logged } from "./past.js";
import type { Subscription } from "./subscription.js";
import { hubOf, type TopicHub, type Topics } from "./topics.js";

/** The access to a topic that a call needs. */
export type TopicAccess = "publish" | "subscribe";

/** How a server serves one family of topics. */
export interface TopicOptions<Parameters, Context = unknown> {
  /**
   * Says who may publish to a topic, and who may subscribe: false is `permission_denied`, and an `RpcError` that it throws goes to the caller.
   * "everybody" lets all in who have a session.
   */
  readonly authorize:
    | "everybody"
    | ((access: TopicAccess, parameters: Parameters, context: CallContext<Context>) => Awaitable<boolean>);
  /**
   * The treatment of a subscriber that takes messages more slowly than they come. "drop" drops the oldest messages that
   * wait for it, and the next message says in `lost` how many. "end" ends its subscription with `resource_exhausted`.
   * Default "drop".
   */
  readonly slow?: "drop" | "end" | undefined;
}

/** Options of `Topic.publish`. */
export interface TopicPublishOptions {
  /**
   * Names the message in a topic with history. A message whose id the log has is not published again, whichever server
   * published it. With an id, a call that publishes may be repeated. Memory and files know the ids of the messages that they
   * keep. JetStream knows those of its stream's `duplicate_window`, 2 minutes unless it is set. Default: none.
   */
  readonly id?: string | undefined;
}

/** One family of topics, for the server's own code. */
export interface Topic<Message, Parameters, Item> {
  /** Publishes a message. Resolves when all subscribers of this process have it in their queues, or the bus has taken it. */
  publish(message: Message, options?: TopicPublishOptions): Promise<void>;
  /**
   * Subscribes this process. Messages that are published once the promise has resolved arrive; those that come faster than they are taken are treated as
   * `slow` says. All subscribers get the same object: it must not be changed.
   *
   * @param from of a topic with history: messages after this position come first
   */
  subscribe(parameters: Parameters, from?: string): Promise<AsyncIterableIterator<Item>>;
}

/** The handlers of a service's topics by the names of their methods, as its router takes them. */
const HANDLERS: unique symbol = Symbol("handlers");

/** The topics of one service as a server has them; generated code adds each by its name. */
export interface ServedTopics<Context = unknown> {
  readonly [HANDLERS]: ReadonlyMap<string, BoundMethod<Context>>;
}

type AnyTopic = Topic<object, object, unknown>;
type AnyTopicOptions = TopicOptions<Readonly<Record<string, unknown>>>;

const TOPIC: OptionNames<AnyTopicOptions> = { authorize: true, slow: true };

/** Makes the topics of a service. `patterns` and `options` are by the topics' names. Generated code calls it. */
export function serveTopics<Served extends ServedTopics<never>>(
  methods: Readonly<Record<string, AnyMethod>>,
  patterns: Readonly<Record<string, string>>,
  topics: Topics,
  options: object,
): Served {
  const hub = hubOf(topics);
  checkOptions("serveTopics()", options, Object.fromEntries(Object.keys(patterns).map((name) => [name, TOPIC])));
  const handlers = new Map<string, BoundMethod>();
  const served: Record<string, AnyTopic> = {};
  for (const [name, pattern] of Object.entries(patterns)) {
    const own = (options as Readonly<Record<string, AnyTopicOptions | undefined>>)[name];
    const names = topicMethodNames(name);
    const publish = methods[names.publish];
    const subscribe = methods[names.subscribe];
    if (publish === undefined || subscribe === undefined)
      throw new TypeError(`there is no topic ${name} in this service`);
    if (own?.authorize !== "everybody" && typeof own?.authorize !== "function") {
      throw new TypeError(`the topic ${name} needs authorize: a function, or "everybody"`);
    }
    const family = new TopicFamily(hub, pattern, subscribe, own);
    served[name] = family;
    handlers.set(names.publish, { method: publish, handler: (input, context) => family.published(input, context) });
    const output = encodedOnce(family.codec);
    handlers.set(names.subscribe, {
      method: { ...subscribe, output } as AnyMethod,
      handler: (input, context) => family.subscribed(input, context),
    });
  }
  return Object.assign(served, { [HANDLERS]: handlers }) as unknown as Served;
}

/** As `createRouter`, for a service with topics. Generated code calls it. */
export function createTopicRouter<Methods extends Record<string, AnyMethod>, Context = unknown>(
  methods: Methods,
  handlers: object,
  topics: ServedTopics<Context>,
): Router<Context> {
  const own = topics[HANDLERS];
  const others = Object.fromEntries(Object.entries(methods).filter(([name]) => !own.has(name)));
  const router = createRouter<Record<string, AnyMethod>, Context>(
    others,
    handlers as Handlers<Record<string, AnyMethod>, Context>,
  );
  return { methods: [...router.methods, ...own.values()] };
}

/** All topics of one pattern. */
class TopicFamily implements AnyTopic {
  readonly codec: MessageCodec<unknown>;
  private readonly hub: TopicHub;
  private readonly pattern: string;
  private readonly method: AnyMethod;
  private readonly options: AnyTopicOptions;
  /** Keeps its messages, where the schema asks for history. */
  private readonly log: TopicLog | undefined;

  constructor(hub: TopicHub, pattern: string, method: AnyMethod, options: AnyTopicOptions) {
    if (method.cursor !== undefined && hub.log === undefined) {
      throw new TypeError(
        `${method.service.name}/${method.name} has history, which this bus keeps none of: see docs/topics.md`,
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
      throw new TypeError(`${method.service.name}/${method.name} has no history, which would know a message by its id`);
    }
    const turn = hub.pace.turn();
    if (turn !== undefined) await turn;
    // A log says the position when it has the message.
    await hub.publish(this.nameOf(input), codec, log === undefined ? { message } : { message, position: "" }, log, id);
  }

  async subscribe(parameters: object = {}, from?: string): Promise<AsyncIterableIterator<unknown>> {
    const { log, codec, hub } = this;
    const name = this.nameOf(parameters);
    const subscription = hub.subscribe(name, codec, this.options.slow ?? "drop", log);
    const position = await live(subscription);
    if (log === undefined || position === undefined) return subscription;
    return joined(
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
    // The caller hears that it is subscribed, before there is a message.
    context.responseMetadata.set(LIVE, "1");
    context.sendResponseMetadata();
    return subscription;
  }

  private async authorize(access: TopicAccess, input: object, context: CallContext): Promise<void> {
    const { authorize } = this.options;
    if (authorize === "everybody") return;
    const { message: _, ...parameters } = input as Readonly<Record<string, unknown>>;
    if (await authorize(access, parameters, context)) return;
    throw new RpcError("permission_denied", `this caller may not ${access} there`);
  }

  private nameOf(input: object): string {
    return topicName(this.method.service.name, this.pattern, input as Readonly<Record<string, unknown>>);
  }
}

/** The response metadata of a subscription: it says that what is published from now on arrives. */
const LIVE = "topic-live";

async function live(subscription: Subscription): Promise<string | undefined> {
  try {
    return await subscription.ready;
  } catch (error) {
    await subscription.return();
    throw error;
  }
}
