// What a session that only calls loads when it is needed. One module: bundlers make a file for every set of modules that several such have in common.
export { explainFault } from "../call/explain-fault.js";
export { ClientRenewal } from "./client-renewal.js";
export { takePeerStreams } from "./peer-streams.js";
