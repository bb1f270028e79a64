// Schemas of topics, and their server side.
export type {
  BusSubscription,
  LoggedMessage,
  LogSubscription,
  TopicBus,
  TopicLog,
  TopicReceiver,
} from "./bus.js";
export { DEFAULT_TOPIC_LIMITS, type TopicLimits } from "./limits.js";
export { expiredPosition, type Journal, type LogEntry, MemoryLog } from "./memory-log.js";
export type { Topic, TopicAccess, TopicOptions, TopicPublishOptions } from "./serve-topics.js";
export { topic, type TopicSchema, type TopicSchemaOptions } from "./topic.js";
export { createTopics, type Topics, type TopicsOptions, type TopicsStats } from "./topics.js";
