export type { NatsHistory } from "./jet-stream-log.js";
export { natsTopics, type NatsTopicsOptions } from "./nats-topics.js";
