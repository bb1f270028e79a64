// What a client loads when it is needed, but for blobs. One module: bundlers make a file for every set of modules that several such have in common.
export { failureOf } from "./failure.js";
export { callStream } from "./streams.js";
