// Code that sessions without a serving side load on demand. It is a single module, because bundlers create a file for
// each set of modules that several dynamic imports share.
export { explainFault } from "../call/explain-fault.js";
export { ClientRenewal } from "./client-renewal.js";
export { acceptPeerStream } from "./peer-streams.js";
