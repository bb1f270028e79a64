// The entry for calls that take effect once. Separate, because few applications use keys or a store.

export { createOnceKey } from "./call/once-key.js";
export { createOutbox, type Outbox, type OutboxOptions } from "./call/outbox.js";
export type { OnceIdentity } from "./server/context.js";
export { MemoryOnceStore, type MemoryOnceStoreOptions } from "./server/once/memory-once-store.js";
export { type OnceFailure, onceFailure } from "./server/once/once-failure.js";
export type { OnceOptions } from "./server/once/once-options.js";
export type { OnceClaim, OnceState, OnceStore } from "./server/once/once-store.js";
