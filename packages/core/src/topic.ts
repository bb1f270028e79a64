// The entry for topics. Separate, because schemas of topics need zod at run time, which a page without a bundler may
// not have.
export { topic, type TopicSchema, type TopicSchemaOptions } from "./contract/topic.js";
export { DEFAULT_TOPIC_LIMITS, type TopicLimits } from "./topics/limits.js";
export type { Topic, TopicAccess, TopicOptions, TopicPublishOptions } from "./topics/serve-topics.js";
export { createTopics, type Topics, type TopicsOptions, type TopicsStats } from "./topics/topics.js";
export type {
  BusSubscription,
  LoggedMessage,
  LogSubscription,
  TopicBus,
  TopicLog,
  TopicReceiver,
} from "./topics/bus.js";
