// Code that a session which only calls loads on demand. One module: bundlers create a file for every set of modules
// that several such imports share.
export { explainFault } from "../call/explain-fault.js";
export { ClientRenewal } from "./client-renewal.js";
export { takePeerStreams } from "./peer-streams.js";
