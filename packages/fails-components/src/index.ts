/// <reference types="node" preserve="true" />
export { failsTransport, http2Transport } from "./transport.js";
