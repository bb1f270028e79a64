// The entry for measurements. Separate, because most applications leave them to their metrics.
export { type CallTimings, callTimings } from "./interceptors/call-timings.js";
export { type ConnectionStats, sessionStats } from "./session/session-stats.js";
export { describeFrame, type FrameDescription, tapFrames, type TappedFrame } from "./transport/frame-tap.js";
