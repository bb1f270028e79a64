// Entry for generated code, for methods written by hand, and for tools.
export { onceCalls } from "./once-key.js";
export { resumableCalls } from "./resumable-calls.js";
export { durableRouter } from "./durable-router.js";
