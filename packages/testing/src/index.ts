/// <reference types="node" preserve="true" />
export { BLACKOUT, type Conditions, FAIR } from "./conditions.js";
export type { Link, LinkOptions } from "./link.js";
export { type NetworkOptions, openNetwork, type Outages } from "./network.js";
export { type DescribedNetwork, NETWORKS, parseNetwork } from "./parse-network.js";
export { randomNumbers } from "./random.js";
export { type CallRecorder, recordCalls, type RecordOptions } from "./record-calls.js";
export { replayCalls } from "./replay-calls.js";
export { createSessionPair, type SessionPair, type SessionPairOptions } from "./sessions.js";
export { openTcpLink } from "./tcp-link.js";
export { openUdpLink } from "./udp-link.js";
