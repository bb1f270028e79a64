// Support for `once` calls, an outbox, and `catchUp` for streams that continue after stored items.

export { catchUp } from "./catch-up.js";
export { createOnceKey } from "./once-key.js";
export { createOutbox, type Outbox, type OutboxOptions } from "./outbox.js";
export { MemoryOnceStore, type MemoryOnceStoreOptions } from "./memory-once-store.js";
export { type OnceFailure, onceFailure } from "./once-failure.js";
export type { OnceClaim, OnceIdentity, OnceOptions, OnceState, OnceStore } from "@quicrpc/core/internal";
