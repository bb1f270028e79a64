export { natsTopics, type NatsTopicsOptions } from "./nats-topics.js";
