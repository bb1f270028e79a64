// Code that a client loads on demand, except that for blobs. One module: bundlers create a file for every set of
// modules that several such imports share.
export { failureOf } from "./failure.js";
export { callStream } from "./streams.js";
