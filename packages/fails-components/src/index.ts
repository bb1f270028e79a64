/// <reference types="node" preserve="true" />
export type { FailsSession } from "./dial.js";
export { type FailsTransportOptions, failsTransport, http2Transport } from "./transport.js";
