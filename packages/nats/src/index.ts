export type { NatsHistory } from "./jet-stream-log.js";
export { announceTargets, natsTargets, type NatsTargetsOptions } from "./nats-targets.js";
export { natsTopics, type NatsTopicsOptions } from "./nats-topics.js";
