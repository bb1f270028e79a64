import type { CallContext, Router } from "@quicrpc/core";
import { ReceivedBlob } from "@quicrpc/blobs";
import { type AnyMethod, createRouter, type Handlers } from "@quicrpc/core/generated";
import { type MethodSchema, topicMethodNames, topicOfMethod, type TopicOfMethod } from "@quicrpc/core/internal";
import { durableRouter } from "@quicrpc/durable/generated";
import { createTopics } from "@quicrpc/topics";
import { createTopicRouter, type ServedTopic, type ServedTopics, serveTopics } from "@quicrpc/topics/generated";
import type { ProjectService } from "../project-services.js";
import { countFrom, isStreamPayload } from "./items.js";
import { MockedMethod, type MockOptions } from "./mocked-method.js";
import { MockError } from "./schema.js";

/** Handlers that the user has written for some methods, by service and method name. */
export type OwnHandlers = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

type BoundMethod = Router["methods"][number];
type Handler = (input: unknown, context: CallContext) => unknown;
type Topics = ServedTopics & Readonly<Record<string, ServedTopic<unknown, unknown, unknown>>>;

/**
 * Creates a router that serves generated data for a service. A topic passes on what clients publish, and sends some
 * generated messages to each subscriber. Throws `MockError` if no data can be generated for an output's schema.
 */
export function mockRouter(service: ProjectService, userHandlers: OwnHandlers, options: MockOptions): Router {
  const { schema, methods } = service;
  const serviceHandlers = userHandlers[schema.name] ?? {};
  const unknown = Object.keys(serviceHandlers).filter((name) => !(name in schema.methods));
  if (unknown.length > 0)
    throw new MockError(`${schema.name} has no method ${unknown.join(", ")}, for which there are handlers`);
  const answered: Record<string, AnyMethod> = {};
  const handlers: Record<string, unknown> = {};
  const patterns: Record<string, string> = {};
  for (const [name, method] of Object.entries(methods)) {
    const declared = schema.methods[name] as MethodSchema;
    const topic = topicOfMethod(declared);
    if (topic !== undefined) patterns[topic.name] = topic.pattern;
    if (topic !== undefined && serviceHandlers[name] === undefined) continue;
    answered[name] = method;
    handlers[name] = serviceHandlers[name] ?? mockHandler(declared, method, options);
  }
  const everybody = Object.keys(patterns).map((name) => [name, { authorize: "everybody" }]);
  const topics = serveTopics<Topics>(methods, patterns, createTopics(), Object.fromEntries(everybody));
  const ofTopics = createTopicRouter({}, {}, topics)
    .methods.filter(({ method }) => serviceHandlers[method.name] === undefined)
    .map((bound) => ({ method: bound.method, handler: topicHandler(service, bound, topics, options) }));
  const router = durableRouter(createRouter(answered, handlers as Handlers<typeof answered, unknown>));
  return { methods: [...router.methods, ...ofTopics] };
}

function mockHandler(declared: MethodSchema, method: AnyMethod, options: MockOptions): Handler {
  const output = declared.type === "rpc" ? declared.output : undefined;
  const name = `${method.service.name}/${method.name}`;
  const mock = new MockedMethod(name, declared.input, output, method.blobs?.fields, options);
  const takesStream = isStreamPayload(declared.input);
  const { cursor } = method;
  if (method.kind !== "server_stream" && method.kind !== "duplex") {
    return async (input, { signal }) => {
      const random = mock.begin(input);
      if (takesStream) for await (const _ of input as AsyncIterable<unknown>);
      for (const blob of receivedOf(input, method)) for await (const _ of blob);
      await mock.pause(random, signal);
      return mock.item(random);
    };
  }
  return async function* (input, { signal, resumeFrom }) {
    const random = mock.begin(input);
    if (takesStream) {
      for await (const _ of input as AsyncIterable<unknown>) {
        await mock.pause(random, signal);
        yield mock.item(random);
      }
      return;
    }
    let last: unknown = resumeFrom;
    for (let remaining = countFrom(random); remaining > 0; remaining--) {
      await mock.pause(random, signal);
      if (cursor === undefined) yield mock.item(random);
      else {
        const item = mock.itemAfter(last, cursor, random);
        last = item[cursor.field];
        yield item;
      }
    }
  };
}

/** Returns the handler of a topic's method. Each subscription makes the topic publish some generated messages. */
function topicHandler(service: ProjectService, bound: BoundMethod, topics: Topics, options: MockOptions): Handler {
  const { method, handler } = bound;
  const { schema } = service;
  const { name } = topicOfMethod(schema.methods[method.name] as MethodSchema) as TopicOfMethod;
  const publish = topicMethodNames(name).publish;
  const input = (schema.methods[publish] as MethodSchema).input;
  const mock = new MockedMethod(`${schema.name}/${method.name}`, input, input, undefined, options);
  return async (parameters, context) => {
    const random = mock.begin(parameters);
    if (method.name === publish) {
      await mock.pause(random, context.signal);
      return handler(parameters, context);
    }
    const items = Array.from({ length: countFrom(random) }, () => mock.item(random) as object);
    const subscription: unknown = await handler(parameters, context);
    const publishAll = async (): Promise<void> => {
      for (const message of items) {
        await mock.pause(random, context.signal);
        await topics[name]?.publish({ ...message, ...(parameters as object) });
      }
    };
    // If a subscription ends meanwhile or is too slow, it reports that itself.
    publishAll().catch(() => {});
    return subscription;
  };
}

/** Returns the received blobs of an input. The handler must read them, because the upload ends only then. */
function receivedOf(input: unknown, { blobs }: AnyMethod): ReceivedBlob[] {
  const values = blobs?.fields.input?.map(({ name }) => (input as Readonly<Record<string, unknown>>)[name]) ?? [];
  return values.filter((value) => value instanceof ReceivedBlob);
}
