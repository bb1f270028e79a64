// For servers.
export { createFetchHandler, type FetchHandler, type RequestInfo } from "./server/create-fetch-handler.js";
export { docsPage, type DocsPageOptions } from "./server/docs-page.js";
export type { ExtensionAnswer, ExtensionHost, ExtensionRequest, HttpExtension } from "./server/extension.js";
export type { StoredUpload, UploadInfo, UploadStore } from "@quicrpc/blobs";
export type { HttpProtocol } from "./server/protocol.js";
export type { HttpPeer, HttpServiceOptions } from "./server/http-options.js";
export {
  type Http2Stream,
  type Http3Request,
  type NodeHandler,
  type NodeHeaders,
  type NodeRequest,
  type NodeResponse,
  toNodeHandler,
} from "./server/to-node-handler.js";

export type { OpenApiOptions } from "./openapi/source.js";

// JSON by the schema.
export { type JsonCodec, jsonCodecOf } from "./json/json-codec.js";

// For clients.
export { type Http2Fetch, http2Fetch, type Http2FetchOptions } from "./client/http2-fetch.js";
export { plainJson } from "./client/plain-json.js";
export { type HttpTransport, httpTransport } from "./client/http-transport.js";
export type { Fetch, FetchInit, HttpOptions, Uploads, HttpCodec } from "./client/options.js";

// For both.
export { type ContentCoding, gzip } from "./protocol/compression.js";
export { zstd } from "./protocol/zstd.js";

// Protobuf details of errors.
export { type ConnectDetail, connectDetails, withConnectDetails } from "./protocol/connect-details.js";
