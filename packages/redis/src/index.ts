export { type RedisCommands, RedisOnceStore, type RedisOnceStoreOptions } from "./redis-once-store.js";
