// Code that a client loads on demand, except the code for blobs. It is one module, because bundlers create a separate
// file for each combination of modules that is loaded on demand.
export { failureOf, httpErrorOf } from "./failure.js";
export { callStream, uploadStream } from "./streams.js";
