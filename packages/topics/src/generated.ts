// The entry for generated code, and for tools.
export {
  createTopicRouter,
  type ServedTopics,
  serveTopics,
  // Exported under names that are unlikely to collide with types of an application.
  type Topic as ServedTopic,
  type TopicOptions as ServedTopicOptions,
} from "./serve-topics.js";
export type { Topics as ProcessTopics } from "./topics.js";
